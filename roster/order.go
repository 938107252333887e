package roster

import (
	"cmp"
	"slices"
)

// order are pods in the order of their creation, in which they begin (A-SYNC-1).
type order []*pod

// earlier compares pods by their creation. No two pods are equal.
func earlier(a, b *pod) int {
	return cmp.Or(
		a.newest.CreationTimestamp.Compare(b.newest.CreationTimestamp.Time),
		cmp.Compare(a.newest.Name, b.newest.Name), cmp.Compare(a.uid, b.uid),
	)
}

func (o *order) add(p *pod) {
	at, _ := slices.BinarySearchFunc(*o, p, earlier)
	*o = slices.Insert(*o, at, p)
}

// remove takes a pod out. What it is sorted by must be as it was when it was added.
func (o *order) remove(p *pod) {
	if at, there := slices.BinarySearchFunc(*o, p, earlier); there {
		*o = slices.Delete(*o, at, at+1)
	}
}
