package run

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// Owner says of which pods of a root a lifepod run has a record: they are its own,
// or the next one's to go on with.
func Owner(root string) func(uid types.UID) bool {
	return func(uid types.UID) bool {
		list, err := records(root)
		return err != nil || // nothing is ended of which this is not known
			slices.ContainsFunc(list, func(r *record) bool { return r.UID == uid })
	}
}
