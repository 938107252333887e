package run

import "k8s.io/apimachinery/pkg/types"

// Owner says of which pods of a root a lifepod run has a record: they are its own,
// or the next one's to go on with.
func Owner(root string) func(uid types.UID) bool {
	return func(uid types.UID) bool {
		paths, err := records(root)
		if err != nil {
			return true // nothing is ended of which this is not known
		}
		for _, path := range paths {
			if uidOf(path) == uid {
				return true
			}
		}
		return false
	}
}
