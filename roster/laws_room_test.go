package roster

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/lifecycle"
)

// place is what each pod holds of the node, counted anew from facts and effects.
type place map[types.UID]holding

// holding is an amount of CPU, in thousandths.
type holding struct {
	cpu int64
	// granted is for a resize that was granted: it counts, too, until a worker's status tells of it, or is of a newer
	// generation than it (A-ADM-7). What is remembered of the pod may be older.
	granted    int64
	generation int64
	kept       int64 // for a resize that is to be asked for again
	// asks says that the pod is not admitted yet: its place is kept.
	asks bool
}

// published files what a worker's status says of a pod that lives.
func (p place) published(uid types.UID, status *v1.PodStatus) {
	p.status(uid, status)
	if h, holds := p[uid]; holds && (h.cpu == h.granted || status.ObservedGeneration > h.generation && !defers(status)) {
		h.granted = 0
		p[uid] = h
	}
}

// resumed files what the status of a pod says that goes on: its worker asks again for what it was granted.
func (p place) resumed(uid types.UID, status *v1.PodStatus) {
	if h, holds := p[uid]; holds {
		h.granted, h.kept = 0, 0
		p[uid] = h
	}
	p.status(uid, status)
}

// defers says that a status tells of a resize that waits for room.
func defers(status *v1.PodStatus) bool {
	pending := lifecycle.Condition(status.Conditions, v1.PodResizePending)
	return pending != nil && pending.Reason == v1.PodReasonDeferred
}

// status files what a status says of a pod that lives: one that has ended holds nothing.
func (p place) status(uid types.UID, status *v1.PodStatus) {
	h, holds := p[uid]
	if !holds {
		return
	}
	if lifecycle.Terminal(status.Phase) {
		delete(p, uid)
		return
	}
	if cpu, found := allocatedIn(status); found {
		h.cpu = cpu
		if h.kept <= cpu {
			h.kept = 0
		}
	}
	p[uid] = h
}

// keep files the place of a pod that may be admitted.
func (p place) keep(pod *v1.Pod) {
	p[pod.UID] = holding{cpu: cpuOf(pod).MilliValue(), asks: true}
}

// adopted files a pod with what its status says.
func (p place) adopted(pod *v1.Pod) {
	p[pod.UID] = holding{cpu: cpuOf(pod).MilliValue()}
	p.published(pod.UID, &pod.Status)
}

// reserved files what is kept for a resize.
func (p place) reserved(uid types.UID, resized *v1.Pod) {
	h, holds := p[uid]
	if !holds {
		return
	}
	h.kept = 0
	if resized != nil {
		h.kept = cpuOf(resized).MilliValue()
	}
	p[uid] = h
}

// others is what the other pods hold, without and with what is kept for resizes.
func (p place) others(uid types.UID) (least, most int64) {
	for other, h := range p {
		if other != uid {
			has := max(h.cpu, h.granted)
			least, most = least+has, most+max(has, h.kept)
		}
	}
	return least, most
}

// admitted: a pod that begins fits, but for one that is being deleted, and for one whose
// victims have not ended in their time.
func (l *laws) admitted(pod *v1.Pod) {
	asks := cpuOf(pod).MilliValue()
	used, _ := l.place.others(pod.UID)
	late := false
	for uid, until := range l.overdue {
		_, holds := l.place[uid]
		late = late || holds && !until.After(l.w.now)
	}
	if used+asks > l.w.cpu && pod.DeletionTimestamp == nil && !late {
		l.w.rt.Fatalf("%s begins with %d, the others hold %d of %d (A-ADM-4): %v", pod.UID, asks, used, l.w.cpu, l.place)
	}
	l.place[pod.UID] = holding{cpu: asks}
}

// refused: nobody is refused for whom there is room; who is holds nothing.
func (l *laws) refused(e Refuse) {
	delete(l.place, e.Pod.UID)
	_, used := l.place.others(e.Pod.UID)
	if e.Why.Reason == "OutOfcpu" && used+cpuOf(e.Pod).MilliValue() <= l.w.cpu {
		l.w.rt.Fatalf("%s is refused, and asks for %s while the others hold %d of %d: %v", e.Pod.UID, cpuOf(e.Pod), used, l.w.cpu, l.place)
	}
}

// answers: a resize that is granted fits. Until a status tells of it the pod holds what it
// had, too.
func (l *laws) answers(e AnswerResize) {
	resized := l.asked[e.ID]
	uid, asks := resized.UID, cpuOf(resized).MilliValue()
	used, _ := l.place.others(uid)
	l.w.note("resize deferred", e.Refusal != nil)
	l.w.note("resize granted", e.Refusal == nil)
	h, holds := l.place[uid]
	if !holds {
		return
	}
	h.kept, h.granted = 0, 0
	if e.Refusal == nil {
		if used+asks > l.w.cpu {
			l.w.rt.Fatalf("%s gets %d, the others hold %d of %d (A-ACT-15)", uid, asks, used, l.w.cpu)
		}
		h.granted, h.generation = asks, resized.Generation
	}
	l.place[uid] = h
}
