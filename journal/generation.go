package journal

import (
	"cmp"
	"slices"
	"time"

	"github.com/lifepod/lifepod/lifecycle"
)

// NewestGroup returns the records of the newest group among pods whose groups had the same name. If all pods of a group were
// deleted before the next pod was created, that pod begins another group, whose attempts start at 0 again. The lives of one
// group's pods overlap, directly or through those of others.
func NewestGroup(records []*Record, now time.Time) (group []*Record) {
	list := slices.Clone(records)
	slices.SortStableFunc(list, func(a, b *Record) int {
		return cmp.Or(endOf(b, now).Compare(endOf(a, now)), cmp.Compare(a.Pod.Name, b.Pod.Name))
	})
	var since time.Time // when the first of the group began
	for _, r := range list {
		if len(group) > 0 && endOf(r, now).Before(since) {
			break
		}
		if begin := beginOf(r, now); len(group) == 0 || begin.Before(since) {
			since = begin
		}
		group = append(group, r)
	}
	return group
}

func beginOf(r *Record, now time.Time) time.Time {
	switch {
	case len(r.Entries) > 0:
		return r.Entries[0].At
	case !r.Pod.Created.IsZero():
		return r.Pod.Created
	}
	return now
}

// endOf is when a pod was deleted, or else was gone; now, if it is there.
func endOf(r *Record, now time.Time) time.Time {
	switch {
	case r.Now == nil:
		return now
	case !r.Now.Deleting.IsZero():
		return r.Now.Deleting
	case r.Now.Stage == lifecycle.Gone.String():
		return r.Now.At
	}
	return now
}
