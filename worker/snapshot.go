package worker

import (
	"context"

	"github.com/lifepod/lifepod/cri"
	"github.com/lifepod/lifepod/lifecycle"
)

// snapshots are those that the machine did not ask for: one at a time, so that
// a runtime that does not answer is not asked ever more.
type snapshots struct {
	underWay bool
	again    bool   // another is wanted: the one under way may have begun too early
	digest   uint64 // of what the runtime had of the pod when it was last looked at
	quiet    int    // how many there were since anything has happened
}

// Looks has room for so many snapshots at the same time that no machine has asked for; nil: for any number. After a look at all pods
// thousands of workers may want one: without a bound most of them would run out of time, want another, and fill the runtime's
// connection with calls that nobody waits for.
type Looks chan struct{}

// enter waits until there is room for an effect, if it is such a snapshot, or until ctx ends.
func (l Looks) enter(ctx context.Context, e lifecycle.Effect) (leave func()) {
	if o, is := e.(lifecycle.Observe); l == nil || !is || o.ID != 0 {
		return func() {}
	}
	select {
	case l <- struct{}{}:
		return func() { <-l }
	case <-ctx.Done():
		return func() {}
	}
}

// podDigest is what the runtime has of a pod, in one number (cri.Overview).
type podDigest struct {
	digest uint64
	failed bool // the runtime has not answered
}

// compareDigest takes a snapshot unless nothing has happened since the last ones.
func (w *Worker) compareDigest(ctx context.Context, g podDigest) {
	if !g.failed && g.digest != w.snapshots.digest {
		w.snapshots.digest, w.snapshots.quiet = g.digest, 0
	}
	if w.snapshots.quiet < cri.UnchangedEnough {
		w.takeSnapshot(ctx)
	}
}

// learned notes that the machine has learned something. What it learns again and
// again of a pod that only runs does not count.
func (s *snapshots) learned(fact lifecycle.Fact) {
	switch fact := fact.(type) {
	case lifecycle.Woke, lifecycle.Probed, lifecycle.VolumesRefreshed, lifecycle.StorageMeasured:
	case lifecycle.Observed:
		if fact.ID != 0 || fact.Failure != nil {
			s.quiet = 0
		}
	default:
		s.quiet = 0
	}
}

// wanted notes that the machine wants something, with the same exceptions.
func (s *snapshots) wanted(effect lifecycle.Effect) {
	switch effect.(type) {
	case lifecycle.WakeAt, lifecycle.Probe, lifecycle.RefreshVolumes, lifecycle.MeasureStorage:
	default:
		s.quiet = 0
	}
}

// takeSnapshot begins one, or notes that another is wanted after the one under way.
func (w *Worker) takeSnapshot(ctx context.Context) {
	if w.machine.Resting() {
		return
	}
	if w.snapshots.underWay {
		w.snapshots.again = true
		return
	}
	w.snapshots.underWay = true
	w.snapshots.quiet++ // until it turns out otherwise
	w.begin(ctx, lifecycle.Observe{})
}

// snapshotTaken ends it, after the machine has seen it.
func (w *Worker) snapshotTaken(ctx context.Context, o lifecycle.Observed) {
	if o.ID != 0 {
		return // the machine's own
	}
	w.snapshots.underWay = false
	if w.snapshots.again {
		w.snapshots.again = false
		w.takeSnapshot(ctx)
	}
}
