package roster

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/roster/pressure"
)

// pressureLaws are what holds of a node that runs short. They keep books of their own.
type pressureLaws struct {
	rows       map[pressure.Signal]row
	at         map[v1.NodeConditionType]time.Time // when it may have been observed last
	conditions []v1.NodeConditionType             // as told last

	attempt  *attempt // to get something back
	victim   types.UID
	until    time.Time     // no other victim before, unless this one has given all back
	settles  bool          // nothing of the victim runs any more
	settling time.Duration // how long it then has
	pressed  map[types.UID]bool
}

// row is an uninterrupted row of measurements below the largest threshold of a signal.
type row struct {
	since time.Time
	hard  bool // at least one was below the hard threshold
}

// attempt is what began when a threshold acted.
type attempt struct {
	signal     pressure.Signal
	grace      int64 // at most
	reclaiming bool
	measured   *PodsMeasured
}

func newPressureLaws() pressureLaws {
	return pressureLaws{rows: map[pressure.Signal]row{}, at: map[v1.NodeConditionType]time.Time{}, pressed: map[types.UID]bool{}}
}

func (l *pressureLaws) fact(w *walk, fact Fact) {
	switch f := fact.(type) {
	case NodeMeasured:
		l.measured(w.now, f.Seen)
	case Reclaimed:
		if l.attempt != nil && l.attempt.reclaiming { // else the answer is a late one, of an attempt before
			l.attempt.reclaiming = false
			if len(f.Seen) > 0 && !slices.ContainsFunc([]pressure.Signal{pressure.Memory, pressure.NodeFs, pressure.PIDs}, func(s pressure.Signal) bool { return short(s, f.Seen) }) {
				w.note("reclaiming was enough", true)
				l.attempt = nil
			}
		}
	case PodsMeasured:
		if l.attempt != nil {
			l.attempt.measured = &f
		}
	case Published:
		if l.victim == f.UID && !l.settles && lifecycle.Terminal(f.Status.Phase) && w.now.Before(l.until) {
			l.settles, l.until = true, w.now.Add(l.settling)
		}
	case Rested:
		l.gaveBack(f.UID)
	case Ended:
		l.gaveBack(f.UID)
	case Panicked:
		l.gaveBack(f.UID)
	case NotResumed:
		l.gaveBack(f.UID)
	}
}

func (l *pressureLaws) gaveBack(uid types.UID) {
	if l.victim == uid {
		l.victim = ""
	}
}

// short says whether less is left than the largest threshold, with what is to be reclaimed
// beyond it.
func short(signal pressure.Signal, seen pressure.Observations) bool {
	return seen[signal].Available < levels[signal][enough] && seen[signal].Available != levels[pressure.PIDs][enough]
}

func (l *pressureLaws) measured(now time.Time, seen pressure.Observations) {
	for signal := range levels {
		r := l.rows[signal]
		switch {
		case !short(signal, seen):
			delete(l.rows, signal)
			continue
		case r.since.IsZero():
			r.since = now
		}
		r.hard = r.hard || seen[signal].Available == levels[signal][0]
		l.rows[signal] = r
		if r.hard || signal == pressure.Memory {
			l.at[signal.Condition()] = now
		}
	}
}

// acts is what must be got back first, with the longest grace of a victim: memory before
// all else; after a soft threshold alone only when its grace is over (B-EVI-4, B-EVI-8).
func (l *pressureLaws) acts(now time.Time) *attempt {
	if r, is := l.rows[pressure.Memory]; is && (r.hard || !now.Before(r.since.Add(walkSoftGrace))) {
		if r.hard {
			return &attempt{signal: pressure.Memory, grace: 1}
		}
		return &attempt{signal: pressure.Memory, grace: walkMaxPodGrace}
	}
	for _, signal := range []pressure.Signal{pressure.NodeFs, pressure.PIDs} {
		if l.rows[signal].hard {
			return &attempt{signal: signal, grace: 1, reclaiming: signal == pressure.NodeFs}
		}
	}
	return nil
}

func (l *pressureLaws) effect(w *walk, effect Effect) {
	switch e := effect.(type) {
	case SetConditions:
		l.conditions = e.Conditions
	case NodeEvent:
		if l.attempt = l.acts(w.now); l.attempt == nil {
			w.rt.Fatalf("no threshold acts, and the node is to reclaim (B-EVI-4)")
		}
		l.otherVictim(w)
	case MeasurePods:
		if l.attempt == nil || l.attempt.reclaiming || e.Signal != l.attempt.signal {
			w.rt.Fatalf("pods are measured for %s at %+v (B-EVI-6)", e.Signal, l.attempt)
		}
	case Begin:
		delete(l.pressed, e.Pod.UID)
		l.begins(w, e.Pod)
	case Resume:
		delete(l.pressed, e.Pod.UID)
	case Adopt:
		delete(l.pressed, e.Pod.UID)
	}
}

// begins: under pressure of disk or processes only critical pods begin (B-EVI-10).
func (l *pressureLaws) begins(w *walk, pod *v1.Pod) {
	if pod.DeletionTimestamp != nil || lifecycle.Critical(pod) {
		return
	}
	for _, condition := range l.conditions {
		if condition != v1.NodeMemoryPressure {
			w.rt.Fatalf("%s begins under %v (B-EVI-10)", pod.UID, l.conditions)
		}
	}
}

// otherVictim: there is one victim at a time (B-EVI-3).
func (l *pressureLaws) otherVictim(w *walk) {
	if l.victim != "" && w.now.Before(l.until) {
		w.rt.Fatalf("another pod is to go at %s, and %s has time until %s (B-EVI-3)", clockText(w.now), l.victim, clockText(l.until))
	}
}

// tells: nobody is evicted without a threshold that acts and figures of all pods; critical
// pods never; who goes first is first in the order of eviction, with the threshold's grace.
func (l *pressureLaws) tells(w *walk, uid types.UID, f *lifecycle.EvictionRequested) {
	pod := w.m.pods[uid].newest
	switch {
	case l.attempt == nil || l.attempt.measured == nil || l.attempt.measured.Failed:
		w.rt.Fatalf("%s is evicted at %+v, without figures of pods (B-EVI-7)", uid, l.attempt)
	case lifecycle.Critical(pod):
		w.rt.Fatalf("%s is critical, and evicted (B-EVI-7)", uid)
	case l.pressed[uid]:
		w.rt.Fatalf("%s is evicted a second time", uid)
	case *f.GraceSeconds > l.attempt.grace || l.attempt.grace > 1 && *f.GraceSeconds > *pod.Spec.TerminationGracePeriodSeconds:
		w.rt.Fatalf("%s has %d s at %+v (B-EVI-8)", uid, *f.GraceSeconds, l.attempt)
	}
	l.otherVictim(w)
	l.isFirst(w, pod)
	w.note("evicted for "+string(l.attempt.signal), true)
	w.note("evicted by a soft threshold", l.attempt.grace > 1)
	w.note("evicted before others", len(w.workers) > 2)
	l.settles, l.settling = false, time.Second
	if l.attempt.signal == pressure.NodeFs {
		l.settling = 30 * time.Second
	}
	l.attempt, l.victim, l.until = nil, uid, w.now.Add(max(30*time.Second, time.Duration(*f.GraceSeconds)*3*time.Second/2))
	l.pressed[uid] = true
}

// isFirst: no other pod that could go comes before the victim (B-EVI-7).
func (l *pressureLaws) isFirst(w *walk, victim *v1.Pod) {
	for uid, worker := range w.workers {
		p := w.m.pods[uid]
		if p == nil || uid == victim.UID || worker.refused || w.laws.done[uid] || l.pressed[uid] || lifecycle.Critical(p.newest) {
			continue
		}
		if l.before(p.newest, victim) {
			w.rt.Fatalf("%s is evicted for %s before %s (B-EVI-7)", victim.UID, l.attempt.signal, uid)
		}
	}
}

// before says that one pod has to go before another.
func (l *pressureLaws) before(one, other *v1.Pod) bool {
	amount := func(pod *v1.Pod) (amount uint64, known bool) {
		if used := l.attempt.measured.Used[pod.UID]; used != nil {
			return *used.Memory.WorkingSetBytes, true // as much as of everything else
		}
		return 0, false
	}
	priority := func(pod *v1.Pod) int32 {
		if pod.Spec.Priority == nil {
			return 0
		}
		return *pod.Spec.Priority
	}
	oneUses, known := amount(one)
	otherUses, otherKnown := amount(other)
	lower, higher := priority(one) < priority(other), priority(one) > priority(other)
	byPriority := func(rest bool) bool { return lower || !higher && rest }
	if l.attempt.signal == pressure.PIDs {
		return byPriority(!known && otherKnown || known && otherKnown && oneUses > otherUses)
	}
	switch {
	case known != otherKnown:
		return !known
	case known && oneUses > 0 != (otherUses > 0): // nobody requests any
		return oneUses > 0
	}
	return byPriority(known && oneUses > otherUses)
}

// after: the Node has a condition while its signal is short, and for the time of transition
// after that, not longer (B-EVI-5).
func (l *pressureLaws) after(w *walk, fact Fact) {
	_, measured := fact.(NodeMeasured)
	if _, woke := fact.(Woke); !measured && !woke {
		return
	}
	for _, condition := range []v1.NodeConditionType{v1.NodeMemoryPressure, v1.NodeDiskPressure, v1.NodePIDPressure} {
		at, ever := l.at[condition]
		has := slices.Contains(l.conditions, condition)
		switch {
		case has && (!ever || !w.now.Before(at.Add(walkTransition)) && at.Before(w.now)):
			w.rt.Fatalf("the Node has %s at %s, last observed at %s (B-EVI-5)", condition, clockText(w.now), clockText(at))
		case !has && ever && w.now.Before(at.Add(walkTransition)):
			w.rt.Fatalf("the Node lacks %s at %s, last observed at %s (B-EVI-5)", condition, clockText(w.now), clockText(at))
		}
	}
}

// rests: a node that has enough of everything has no condition, and wants nobody to go.
func (l *pressureLaws) rests(w *walk) {
	if len(l.conditions) > 0 || w.m.eviction.stage != evictionIdle {
		w.rt.Fatalf("a node that has enough rests with %v, at stage %d", l.conditions, w.m.eviction.stage)
	}
}
