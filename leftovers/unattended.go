package leftovers

import (
	"slices"
	"strings"
)

// ofPods are the kinds whose names say which pod they are of.
var ofPods = []Kind{PodFolder, LogFolder, AddressRecord, PodRecord, ForeignPod}

// Without takes from a list what belongs to pods that no lifepod attends to, known by
// their UIDs: what is theirs by name, and, if some of them run, what all pods of a root
// share.
func Without(found []Leftover, uids []string, running bool) []Leftover {
	return slices.DeleteFunc(slices.Clone(found), func(leftover Leftover) bool {
		theirs := slices.ContainsFunc(uids, func(uid string) bool { return strings.Contains(leftover.Name, uid) })
		return theirs || running && !slices.Contains(ofPods, leftover.Kind)
	})
}
