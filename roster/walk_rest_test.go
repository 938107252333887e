package roster

import (
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// comesToRest lets everything work from now on, and demands that every pod that is wanted
// then lives or is over, and that nothing is left of the others.
func (w *walk) comesToRest() {
	w.faultless, w.left = true, nil
	w.heals()
	w.feed(w.measures())
	for range 5000 {
		if !w.worksOnAll() {
			w.rests()
			return
		}
	}
	w.rt.Fatalf("the node never comes to rest: %d facts, %d answers under way", len(w.mail), len(w.answers))
}

// worksOnAll is one step of a node on which everything works. It says false if there is
// nothing to do any more.
func (w *walk) worksOnAll() bool {
	switch {
	case len(w.mail) > 0:
		w.deliver()
		return true
	case len(w.answers) > 0:
		w.answer(0)
		return true
	case len(w.removes) > 0:
		w.removesObject()
		return true
	}
	if slices.ContainsFunc(w.sources, w.tells) {
		return true
	}
	for _, uid := range slices.Sorted(maps.Keys(w.workers)) {
		if w.worksOn(w.workers[uid]) {
			return true
		}
	}
	if !w.wakeAt.IsZero() {
		w.timePasses(24 * time.Hour)
		return true
	}
	return false
}

func (w *walk) rests() {
	for _, view := range w.m.Pods() {
		uid := view.Pod.UID
		want := w.wants[uid]
		if want == nil {
			w.rt.Fatalf("nobody wants %s, which is %s", uid, placeText(w.m, view.Pod))
		}
		switch view.Position {
		case Living:
			if w.workers[uid] == nil {
				w.rt.Fatalf("%s is living, and no worker has it", uid)
			}
		case Over:
			w.note("at rest over", true)
			if want.source.Static() && w.endedBySource[uid] {
				w.rt.Fatalf("%s is over, although it was wanted again while it left (B-WRK-18)", uid)
			}
		case Waiting:
			if view.Reason != ForName || !w.namesakeLives(uid) {
				w.rt.Fatalf("%s rests, %s", uid, placeText(w.m, view.Pod))
			}
		default:
			w.rt.Fatalf("%s rests, %s", uid, placeText(w.m, view.Pod))
		}
		if want.pod.DeletionTimestamp != nil {
			w.rt.Fatalf("%s is deleted, and its object stays", uid)
		}
	}
	for _, uid := range slices.Sorted(maps.Keys(w.wants)) {
		if _, known := w.m.PodByUID(uid); !known {
			w.rt.Fatalf("%s is wanted, and not known", uid)
		}
	}
	for _, uid := range slices.Sorted(maps.Keys(w.runtime)) {
		if w.workers[uid] == nil && w.m.positionOf(uid) != Waiting {
			w.rt.Fatalf("the runtime has %s, and nobody looks after it", uid)
		}
	}
	for _, uid := range slices.Sorted(maps.Keys(w.memory)) {
		if w.workers[uid] == nil {
			w.rt.Fatalf("%s is remembered, and does not live", uid)
		}
	}
	for uid := range w.hasDevices {
		if p := w.m.pods[uid]; p == nil || !p.holds() && !w.m.wasFound(p) {
			w.rt.Fatalf("%s has devices, and does not need them (A-DEV-9)", uid)
		}
	}
	w.resizesRest()
	w.laws.shutdown.rests(w)
	w.laws.pressure.rests(w)
}

// namesakeLives says whether another static pod of the same name is wanted, too, and lives.
func (w *walk) namesakeLives(uid types.UID) bool {
	for other, worker := range w.workers {
		if want := w.wants[other]; other != uid && want != nil && want.source.Static() && worker.pod.Name == w.wants[uid].pod.Name {
			return true
		}
	}
	return false
}

// resizesRest: no resize waits for which there is room.
func (w *walk) resizesRest() {
	for _, uid := range slices.Sorted(maps.Keys(w.workers)) {
		worker := w.workers[uid]
		if !w.wantsResize(worker) || worker.newest.Spec.NodeSelector != nil { // its labels may refuse it
			continue
		}
		_, used := w.laws.place.others(uid)
		if asks := cpuOf(worker.newest).MilliValue(); used+asks <= w.cpu {
			w.rt.Fatalf("%s waits for %d, while the others hold %d of %d (A-ACT-15)", uid, asks, used, w.cpu)
		}
	}
}
