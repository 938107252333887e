package roster

import (
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/roster/pressure"
)

// laws are what holds of one agent at every step of a walk. They keep books of their
// own, by what was said to the machine and what it has asked for.
type laws struct {
	w       *walk
	known   map[types.UID]bool
	wanted  map[types.UID]*v1.Pod // by what the machine was told
	last    map[types.UID]*v1.Pod // of the pods that are known, as the machine was told of each last
	heard   map[Source]bool
	paused  map[types.UID]*v1.Pod // static pods whose worker has panicked
	place   place
	blocked map[types.UID]bool      // over and wanted (B-WRK-16)
	lost    map[types.UID]bool      // whose end was asked for because their source had them no longer
	removed map[types.UID]bool      // whose object was to be deleted
	asked   map[int]*v1.Pod         // resizes, by the number of the question
	done    map[types.UID]bool      // refused, or with a status that tells of its end
	overdue map[types.UID]time.Time // when pods that were preempted have to have ended
	latest  time.Time               // of those
	reads   map[types.UID]bool      // who waits for the Node
	looks   map[types.UID]bool      // for whom the runtime is asked, and of whom no worker has reported a status
	orphans map[types.UID]bool      // of the API, remembered and not wanted when all were heard

	shutdown shutdownLaws
	pressure pressureLaws
}

func newLaws(w *walk) *laws {
	return &laws{
		w: w, known: map[types.UID]bool{}, wanted: map[types.UID]*v1.Pod{}, last: map[types.UID]*v1.Pod{}, orphans: map[types.UID]bool{}, heard: map[Source]bool{}, paused: map[types.UID]*v1.Pod{},
		place: place{}, reads: map[types.UID]bool{}, looks: map[types.UID]bool{}, blocked: map[types.UID]bool{}, lost: map[types.UID]bool{}, removed: map[types.UID]bool{}, overdue: map[types.UID]time.Time{}, done: map[types.UID]bool{}, asked: map[int]*v1.Pod{},
		pressure: newPressureLaws(),
	}
}

func (l *laws) allHeard() bool {
	for _, source := range l.w.sources {
		if !l.heard[source] {
			return false
		}
	}
	return true
}

// fact files what the machine was told.
func (l *laws) fact(fact Fact) {
	l.shutdown.fact(l.w, fact)
	l.pressure.fact(l.w, fact)
	switch f := fact.(type) {
	case SourceHeard:
		l.heard[f.Source] = true
	case Wanted:
		l.wanted[f.Pod.UID], l.last[f.Pod.UID] = f.Pod, f.Pod
		switch {
		case l.looks[f.Pod.UID]:
			l.looksAt(f.Pod)
		case l.place[f.Pod.UID].asks:
			l.place.keep(f.Pod)
		}
	case Unwanted:
		delete(l.wanted, f.UID)
		delete(l.blocked, f.UID)
		delete(l.removed, f.UID)
	case ResizeAsked:
		l.asked[f.ID] = f.Pod
	case Looked:
		delete(l.place, f.UID) // it is taken anew
		delete(l.looks, f.UID)
		delete(l.paused, f.UID)
	case NodeRead:
		if l.reads[f.UID] {
			delete(l.place, f.UID)
		}
		delete(l.reads, f.UID)
	case Allocated:
		delete(l.place, f.UID)
	case Resumed:
		l.done[f.UID] = lifecycle.Terminal(f.Status.Phase)
		l.place.resumed(f.UID, &f.Status)
	case Published:
		l.done[f.UID] = lifecycle.Terminal(f.Status.Phase)
		l.place.published(f.UID, &f.Status)
	case Panicked:
		if p := l.w.m.pods[f.UID]; p != nil && p.source.Static() {
			l.paused[f.UID] = p.newest
		}
	case Ended:
		delete(l.place, f.UID)
		delete(l.overdue, f.UID)
		if l.wanted[f.UID] != nil && !l.lost[f.UID] {
			l.blocked[f.UID] = true
		}
	case NotResumed:
		delete(l.lost, f.UID)
	}
}

// effect holds one effect against the laws.
func (l *laws) effect(effect Effect) {
	l.shutdown.effect(l, effect)
	l.pressure.effect(l.w, effect)
	switch e := effect.(type) {
	case Know:
		l.known[e.Pod.UID] = true
		if e.Again {
			delete(l.done, e.Pod.UID)
		}
	case Begin, Refuse, Adopt, Resume:
		l.lives(e)
	case Look:
		l.isKnown(e.Pod.UID, e)
		h, holds := l.place[e.Pod.UID]
		l.looks[e.Pod.UID] = !l.done[e.Pod.UID] && (!holds || h.asks)
		l.done[e.Pod.UID] = l.hasEnded(e.Pod.UID)
		if l.looks[e.Pod.UID] {
			l.looksAt(e.Pod)
		}
	case ReadNode:
		l.isKnown(e.UID, e)
		l.reads[e.UID] = true
		l.place.keep(l.wanted[e.UID])
	case Allocate:
		l.isKnown(e.Pod.UID, e)
		l.place.keep(e.Pod)
	case Tell:
		l.tells(e)
	case DeleteObject:
		l.deletes(e.Pod)
	case Drop:
		l.drops(e)
	case AnswerResize:
		l.answers(e)
	case AllHeard:
		if !l.allHeard() {
			l.w.rt.Fatalf("AllHeard after %v", l.heard)
		}
		for uid, k := range l.w.memory {
			l.orphans[uid] = k.Source == API && l.wanted[uid] == nil
		}
	case RecordBoot:
		for uid, is := range l.orphans {
			if is && l.w.memory[uid] != nil && l.wanted[uid] == nil {
				l.w.rt.Fatalf("the boot is recorded, and %s would be resumed (B-RST-21)", uid)
			}
		}
	case Recall:
		l.isKnown(e.UID, e)
	case Discard:
		l.isKnown(e.Pod.UID, e)
		if l.w.workers[e.Pod.UID] != nil {
			l.w.rt.Fatalf("%s is discarded while it lives", e.Pod.UID)
		}
	}
}

// lives holds the beginning of a life, or that it goes on, against the laws.
func (l *laws) lives(effect Effect) {
	switch e := effect.(type) {
	case Begin:
		delete(l.done, e.Pod.UID)
		l.begins(e.Pod, true)
		l.admitted(e.Pod)
	case Refuse:
		l.begins(e.Pod, false)
		l.refused(e)
		l.done[e.Pod.UID] = true
	case Adopt:
		fresh := len(e.Has.Sandboxes) == 0
		l.begins(e.Pod, fresh)
		if fresh {
			l.admitted(e.Pod)
		}
		l.place.adopted(e.Pod)
		l.done[e.Pod.UID] = lifecycle.Terminal(e.Pod.Status.Phase)
	case Resume:
		l.begins(e.Pod, false)
		if l.w.rebooted && e.Source == API && !l.heard[API] {
			l.w.rt.Fatalf("%s goes on after a reboot before the API was heard (B-RST-21)", e.Pod.UID)
		}
		l.resumes(e)
		if e.Source != API && e.Checkpoint.Deleted {
			l.lost[e.Pod.UID] = true // before this agent began, or before its worker panicked
		}
	}
}

// resumes files what a pod holds as its checkpoint tells (A-ADM-7, B-RST-19).
func (l *laws) resumes(e Resume) {
	uid, reported := e.Pod.UID, &e.Checkpoint.Reported
	ended := l.hasEnded(uid) || l.last[uid] == nil && lifecycle.Terminal(e.Pod.Status.Phase) // its source is not heard yet
	l.done[uid] = e.Source == API && lifecycle.Terminal(reported.Phase) || ended
	if _, holds := l.place[uid]; !holds && !ended {
		l.place[uid] = holding{cpu: cpuOf(e.Pod).MilliValue()}
	}
	if e.Source == API {
		l.place.status(uid, reported)
	}
}

// looksAt files a pod of which only its object is known while the runtime is asked for it (B-RST-19).
func (l *laws) looksAt(pod *v1.Pod) {
	if l.done[pod.UID] = lifecycle.Terminal(pod.Status.Phase); l.done[pod.UID] {
		delete(l.place, pod.UID)
		return
	}
	l.place.keep(pod)
}

// hasEnded says that a pod holds nothing, by what its worker or the API server has reported, which may
// have it no longer (B-RST-19).
func (l *laws) hasEnded(uid types.UID) bool {
	last := l.last[uid]
	return l.done[uid] || last != nil && lifecycle.Terminal(last.Status.Phase)
}

// drops: what a source has is not forgotten, but for what is to be adopted when its source
// is heard.
func (l *laws) drops(e Drop) {
	l.isKnown(e.UID, e)
	delete(l.known, e.UID)
	delete(l.last, e.UID)
	delete(l.looks, e.UID)
	delete(l.place, e.UID)
	delete(l.done, e.UID)
	delete(l.orphans, e.UID) // if it comes again it is another pod, of this boot
	if _, found := l.w.m.found[e.UID]; l.wanted[e.UID] != nil && !found {
		l.w.rt.Fatalf("%s is dropped, and its source has it", e.UID)
	}
}

func (l *laws) isKnown(uid types.UID, e Effect) {
	if !l.known[uid] {
		l.w.rt.Fatalf("%s, which is not known", effectText(e))
	}
}

// begins: no UID lives twice, none that is over lives again, and of static pods with one
// name only one is begun. Fresh is a life of which the runtime must have nothing.
func (l *laws) begins(pod *v1.Pod, fresh bool) {
	uid := pod.UID
	if !l.known[uid] {
		l.w.rt.Fatalf("%s begins, and is not known", uid)
	}
	if l.w.workers[uid] != nil {
		l.w.rt.Fatalf("%s begins a second time", uid)
	}
	if l.blocked[uid] && fresh { // else the runtime has something of it again
		l.w.rt.Fatalf("%s begins, and was over (B-WRK-16)", uid)
	}
	delete(l.lost, uid)
	delete(l.paused, uid)
	delete(l.overdue, uid)
	if !fresh {
		return
	}
	if asksForDevices(pod) && pod.DeletionTimestamp == nil && !l.w.hasDevices[uid] {
		l.w.rt.Fatalf("%s begins without its devices (A-DEV-5)", uid)
	}
	if thing := l.w.runtime[uid]; thing != nil && !thing.late {
		l.w.rt.Fatalf("%s begins anew, and the runtime has it (B-RST-2)", uid)
	}
	if !l.w.m.heard[l.w.m.pods[uid].source] {
		l.w.rt.Fatalf("%s begins before its source was heard (A-SYNC-1)", uid)
	}
	l.nameLives(pod)
}

func (l *laws) nameLives(pod *v1.Pod) {
	if !lifecycle.Static(pod) {
		return
	}
	for other, worker := range l.w.workers {
		if other != pod.UID && worker.source.Static() && worker.pod.Name == pod.Name {
			l.w.rt.Fatalf("%s begins while %s lives (B-WRK-19)", pod.UID, other)
		}
	}
	for other, thing := range l.w.runtime {
		if other != pod.UID && thing.source.Static() && thing.pod.Name == pod.Name {
			l.w.rt.Fatalf("%s begins while the runtime has %s (B-WRK-19)", pod.UID, other)
		}
	}
	for other, paused := range l.paused {
		if other != pod.UID && paused.Name == pod.Name && l.known[other] {
			l.w.rt.Fatalf("%s begins while %s is paused (B-WRK-19)", pod.UID, other)
		}
	}
}

// tells: nothing is ended before every source was heard.
func (l *laws) tells(e Tell) {
	l.isKnown(e.UID, e)
	switch f := e.Fact.(type) {
	case lifecycle.StopRequested:
		if !l.allHeard() {
			l.w.rt.Fatalf("%s is to end before all sources were heard (B-RST-3)", e.UID)
		}
		if l.wanted[e.UID] != nil {
			l.w.rt.Fatalf("%s is to end, and its source has it", e.UID)
		}
		l.lost[e.UID] = true
	case lifecycle.EvictionRequested:
		if f.Reason == terminatedReason {
			return
		}
		l.evicts(e.UID, &f)
		l.overdue[e.UID] = l.w.now.Add(lifecycle.KillPatience(l.w.m.pods[e.UID].newest))
		if l.overdue[e.UID].After(l.latest) {
			l.latest = l.overdue[e.UID]
		}
	case lifecycle.RoomFreed:
		l.place.reserved(e.UID, l.w.m.pods[e.UID].resize.granted)
	case lifecycle.PodUpdated:
		if f.Pod != l.wanted[e.UID] {
			l.w.rt.Fatalf("%s is told of another version than its source has", e.UID)
		}
	}
}

// deletes: only the object of a pod of the API that is being deleted, of which nothing is
// left, and once.
func (l *laws) deletes(pod *v1.Pod) {
	uid := pod.UID
	wanted := l.wanted[uid]
	if wanted == nil || wanted.DeletionTimestamp == nil || lifecycle.Static(pod) {
		l.w.rt.Fatalf("the object of %s is to be deleted, which nobody asked for", uid)
	}
	if l.removed[uid] {
		l.w.rt.Fatalf("the object of %s is to be deleted a second time (B-DEL-11)", uid)
	}
	if worker := l.w.workers[uid]; worker != nil && !worker.reported {
		l.w.rt.Fatalf("the object of %s is to be deleted, and it lives", uid)
	}
	l.removed[uid] = true
}

// evicts: a pod is preempted once; a critical one only for one of higher priority.
func (l *laws) evicts(uid types.UID, f *lifecycle.EvictionRequested) {
	pod := l.w.m.pods[uid].newest
	switch {
	case f.Reason == pressure.Reason:
		l.pressure.tells(l.w, uid, f)
	case lifecycle.Critical(pod) && (pod.Spec.Priority == nil || *pod.Spec.Priority == criticalPriority):
		l.w.rt.Fatalf("%s is critical, and preempted (B-PRE-1)", uid)
	case !l.overdue[uid].IsZero():
		l.w.rt.Fatalf("%s is preempted a second time", uid)
	}
}

// after is what holds after each step.
func (l *laws) after(fact Fact) {
	l.pressure.after(l.w, fact)
	for uid, p := range l.w.m.pods {
		if l.known[uid] != true {
			l.w.rt.Fatalf("nobody was told of %s", uid)
		}
		if p.position == Waiting && p.reason == ForVictims && p.wanted {
			l.waitsInTime(p)
		}
	}
}

// waitsInTime: a critical pod waits for its victims no longer than their end may take,
// and a moment for one that can't be asked now (B-WRK-13).
func (l *laws) waitsInTime(p *pod) {
	latest := l.w.now.Add(time.Second)
	if l.latest.After(latest) {
		latest = l.latest
	}
	if p.until.After(latest) {
		l.w.rt.Fatalf("%s waits until %s, its victims have ended at %s at the latest (B-WRK-13)", p.uid, clockText(p.until), clockText(latest))
	}
}
