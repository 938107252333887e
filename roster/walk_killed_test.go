package roster

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/internal/prove/walks"
)

// killed ends the agent, lets things happen without one, and begins the next.
func (w *walk) killed() {
	w.dies()
	for range w.draw(4, "changes of sources") {
		w.goes()
	}
	if w.rarely(3, "another agent has begun a pod") {
		w.another()
	}
	w.beginsAgain()
}

// dies ends the agent. What it remembers and what runs may be lost with it.
func (w *walk) dies() {
	w.note(walks.Fault+"agent killed", true)
	w.note("killed before all were heard", !w.m.allHeard())
	w.restart()
	for _, uid := range slices.Sorted(maps.Keys(w.memory)) {
		if !w.keepsCheckpoint(uid) && w.rarely(6, "checkpoint is lost") {
			delete(w.memory, uid)
		}
	}
	if w.rarely(3, "reboot") {
		w.rebooted, w.runtime = true, map[types.UID]*thing{}
		w.note("rebooted", true)
	}
	for _, uid := range slices.Sorted(maps.Keys(w.runtime)) {
		switch {
		case !w.keepsCheckpoint(uid) && w.rarely(5, "another agent goes on with a pod"):
			w.runtime[uid].attempt++
		case w.rarely(8, "runtime loses a pod while no agent runs"):
			delete(w.runtime, uid)
		}
	}
}

// beginsAgain begins the next agent, which is told anew.
func (w *walk) beginsAgain() {
	w.mail, w.announced = nil, map[types.UID]bool{}
	w.begins()
}

// createsLate has a call of an agent that was killed be carried out when its pod has ended since, which the looks of this one find.
func (w *walk) createsLate() {
	uids := slices.DeleteFunc(slices.Sorted(maps.Keys(w.versions)), func(uid types.UID) bool {
		p := w.m.pods[uid]
		return p == nil && !w.m.allHeard() || p != nil && p.position != Over || w.runtime[uid] != nil || w.memory[uid] != nil
	})
	if len(uids) == 0 || !w.rarely(2, "call of an agent before comes late") {
		return
	}
	uid := uids[w.draw(len(uids), "comes late")]
	w.note("found again when it was over", w.m.pods[uid] != nil)
	w.note("found when it had gone", w.m.pods[uid] == nil)
	pod := w.versions[uid][0]
	w.runtime[uid] = &thing{pod: pod, source: API, late: true}
	w.post(FoundLater{Found{UID: uid, Namespace: pod.Namespace, Name: pod.Name, Ours: true, Seen: seenOf(0)}})
}

// another agent, such as a kubelet, has begun a pod, which may have gone since.
func (w *walk) another() {
	w.comes()
	for _, uid := range slices.Sorted(maps.Keys(w.wants)) {
		want := w.wants[uid]
		if w.runtime[uid] != nil || w.memory[uid] != nil || want.pod.DeletionTimestamp != nil || w.draw(2, "has begun") == 0 || w.nameRuns(uid) {
			continue
		}
		w.runtime[uid] = &thing{pod: want.pod, source: want.source}
		if want.source == API {
			pod := want.pod.DeepCopy()
			pod.Status = statusOfPod(pod, cpuOf(pod).String())
			want.pod = pod
		}
		if w.draw(3, "and nobody wants it") == 0 {
			w.unwanted(uid)
		}
	}
}

// nameRuns says whether the runtime has a static pod of the same name, which no agent
// would have begun twice.
func (w *walk) nameRuns(uid types.UID) bool {
	for other, t := range w.runtime {
		if other != uid && t.pod.Name == w.wants[uid].pod.Name && t.source != API && w.wants[uid].source != API {
			return true
		}
	}
	return false
}
