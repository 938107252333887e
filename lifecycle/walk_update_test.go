package lifecycle

import (
	"fmt"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// object is the pod as an API server has it, which a walk changes and shows to
// the machine now and then.
type object struct {
	now    *v1.Pod   // the newest
	before []*v1.Pod // older ones, which may overtake nothing
	shown  bool      // the machine of now has seen it without a deletion
}

// changesObject changes the object in one or two places at once, and shows it.
func (w *walk) changesObject() {
	next := w.newestObject()
	for range 1 + w.draw(2, "changes at once") {
		w.changesPlace(next)
	}
	w.shows(next)
}

// newestObject is a copy of the object. It also has what was asked of the machine in
// other ways, and what the machine of an ending pod did not take over.
func (w *walk) newestObject() *v1.Pod {
	pod := w.m.RequestedPod()
	if w.object.now == nil {
		return pod
	}
	pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = w.object.now.DeletionTimestamp, w.object.now.DeletionGracePeriodSeconds
	for _, e := range w.object.now.Spec.EphemeralContainers {
		if !slices.ContainsFunc(pod.Spec.EphemeralContainers, func(c v1.EphemeralContainer) bool { return c.Name == e.Name }) {
			pod.Spec.EphemeralContainers = append(pod.Spec.EphemeralContainers, e)
		}
	}
	return pod
}

func (w *walk) changesPlace(pod *v1.Pod) {
	switch w.draw(8, "place") {
	case 0:
		pod.Labels = map[string]string{"edited": fmt.Sprint(w.draw(3, "label"))}
	case 1, 2:
		list := pod.Spec.Containers
		if len(pod.Spec.InitContainers) > 0 && w.draw(3, "of an init container") == 0 {
			list = pod.Spec.InitContainers
		}
		c, image := &list[w.draw(len(list), "container")], []string{"img:1", "other:2", "third:3"}[w.draw(3, "image")]
		if c.Image != image {
			w.asked[c.Name] = true // it is replaced whatever its policy says
		}
		c.Image = image
	case 3:
		name := fmt.Sprintf("e%d", w.draw(3, "ephemeral"))
		if !slices.ContainsFunc(pod.Spec.EphemeralContainers, func(c v1.EphemeralContainer) bool { return c.Name == name }) {
			pod.Spec.EphemeralContainers = append(pod.Spec.EphemeralContainers, namedEphemeral(name, ""))
		}
	case 4:
		pod.Spec.Containers[w.draw(len(pod.Spec.Containers), "resized")].Resources = w.randomResources()
	case 5:
		if w.draw(4, "deadline") == 0 {
			pod.Spec.ActiveDeadlineSeconds = new(int64(1 + w.draw(100, "seconds")))
		}
	case 6:
		pod.Status.Conditions = []v1.PodCondition{{Type: "example.com/gate", Status: v1.ConditionTrue}}
	default:
		pod.Spec.Tolerations = append(pod.Spec.Tolerations, v1.Toleration{Key: "k", Operator: v1.TolerationOpExists})
	}
}

// shows feeds the object; sometimes an older one comes after it, which changes nothing.
func (w *walk) shows(next *v1.Pod) {
	if w.object.now != nil {
		w.object.before = append(w.object.before, w.object.now)
	}
	next.Generation++
	w.object.now = next
	w.object.shown = w.object.shown || next.DeletionTimestamp == nil
	w.feed(PodUpdated{Pod: next})
	if len(w.object.before) == 0 || w.draw(3, "overtaken") > 0 {
		return
	}
	old := w.object.before[w.draw(len(w.object.before), "older")]
	if old.Generation >= w.m.pod.Generation {
		return
	}
	was := w.m.pod.DeepCopy()
	w.feed(PodUpdated{Pod: old})
	if fmt.Sprint(was.Spec.String(), was.Labels) != fmt.Sprint(w.m.pod.Spec.String(), w.m.pod.Labels) {
		w.rt.Fatalf("an object of generation %d changes a pod of generation %d", old.Generation, was.Generation)
	}
	w.note("overtaken object", true)
}

// deletesObject deletes the object with a grace, or moves its deletion nearer. The
// clock of the API server is not the node's.
func (w *walk) deletesObject() {
	next := w.newestObject()
	grace := int64(1 + w.draw(40, "grace"))
	skew := []time.Duration{0, -time.Hour, time.Hour}[w.draw(3, "clock of the API server")]
	at := metav1.NewTime(w.now.Add(skew).Add(time.Duration(grace) * time.Second).Truncate(time.Second))
	first := next.DeletionTimestamp == nil
	if !first {
		sooner := time.Duration(w.draw(20, "sooner")) * time.Second
		grace, at = max(1, *next.DeletionGracePeriodSeconds-int64(sooner/time.Second)), metav1.NewTime(next.DeletionTimestamp.Add(-sooner))
		w.note("deletion moved nearer", sooner > 0)
	}
	next.DeletionTimestamp, next.DeletionGracePeriodSeconds = &at, &grace
	running := w.m.Stage() == Syncing
	w.shows(next)
	w.note("deleted in the API", first)
	if first && running && w.object.shown && w.laws.lostSandbox(w.m) {
		w.laws.wholeGrace(w, grace)
	}
	w.goOn()
}

// wholeGrace: a pod that was not being deleted when this lifepod first saw it has
// its whole grace, whatever clock the API server has (B-DEL-4).
func (l *invariants) wholeGrace(w *walk, grace int64) {
	if left := w.m.stopDeadline().Sub(w.now); left < time.Duration(grace-1)*time.Second || left > time.Duration(grace+1)*time.Second {
		l.t.Fatalf("a grace of %ds leaves %v", grace, left)
	}
}

// lostSandbox says that nothing of the pod was being stopped before.
func (l *invariants) lostSandbox(m *Machine) bool { return m.sandbox.State == sandboxReady }

// evicts asks for the pod's end for the node's sake.
func (w *walk) evicts() {
	f := EvictionRequested{Reason: "Preempting", Message: "makes room", Disruption: []string{"", "was preempted"}[w.draw(2, "disruption")]}
	if w.draw(2, "own grace") == 0 {
		f.GraceSeconds = new(int64(w.draw(40, "grace")))
	}
	if !Terminal(w.m.kept.Reported.Phase) && w.m.Stage() < Terminated && w.m.stop.Cause != Completed {
		w.laws.evicted = f
	}
	w.feed(f)
}

// ended: an evicted pod has failed for that reason, and shows the disruption with its last
// phase, not before (B-WRK-12, A-COND-9, B-FIN-3).
func (l *invariants) ended(w *walk, s v1.PodStatus) {
	disrupted := isTrue(s.Conditions, v1.DisruptionTarget)
	if disrupted && !Terminal(s.Phase) {
		l.t.Fatalf("DisruptionTarget in phase %s", s.Phase)
	}
	if l.evicted.Reason == "" || !Terminal(s.Phase) {
		return
	}
	want := l.evicted
	if s.Phase != v1.PodFailed || s.Reason != want.Reason || s.Message != want.Message || disrupted != (want.Disruption != "") {
		l.t.Fatalf("evicted with %+v, and ends as %s %s %q, disrupted: %t", want, s.Phase, s.Reason, s.Message, disrupted)
	}
	w.note("evicted", true)
}

// rests checks a pod that has ended and keeps its records: whatever wakes it or looks at
// it, nothing follows (B-FIN-11). Nobody waits for the removal of an older record; one
// snapshot finds the removals that failed.
func (w *walk) rests() {
	w.note("resting", true)
	w.now = w.now.Add(time.Minute)
	w.feed(w.snapshot())
	w.settles()
	if w.m.clears() && !w.wakeAt.IsZero() { // it removed what came late, and looks whether that has gone
		w.now, w.wakeAt = w.wakeAt, time.Time{}
		w.feed(Woke{})
		w.settles()
	}
	if !w.wakeAt.IsZero() {
		w.rt.Fatalf("a pod at rest wants to be woken at %v", w.wakeAt)
	}
	for _, f := range []Fact{Woke{}, w.snapshot(), Woke{}} {
		w.now = w.now.Add(time.Minute)
		if o, ok := f.(Observed); ok {
			o.Began = w.now
			f = o
		}
		was := w.m.Clone()
		effects := was.Step(Event{At: w.now, Fact: f})
		if len(effects) > 0 && !w.strays() {
			w.rt.Fatalf("%T of a pod at rest leads to %s\n(-published +now)\n%s", f, effectNames(effects), cmp.Diff(w.m.kept.Reported, was.kept.Reported))
		}
	}
}

// settles has all calls answered.
func (w *walk) settles() {
	for len(w.calls) > 0 {
		w.goOn()
	}
}

// keeps: the records and logs of a pod that has ended by itself stay until somebody asks
// for its end; then everything goes (B-FIN-11, B-DEL-13).
func (l *invariants) keeps(w *walk, e Effect) {
	keep := w.m.keepsFiles()
	switch e := e.(type) {
	case RemoveSandbox:
		if keep && w.m.kept.Stage >= Terminating && e.SandboxID == w.m.sandbox.ID {
			l.t.Fatalf("the records of a pod that keeps them are removed")
		}
	case RemoveContainer:
		if c := w.m.containerNamed(e.Container); keep && w.m.kept.Stage >= Terminated && e.ContainerID == c.ID {
			l.t.Fatalf("the record of %s is removed, which stays", e.Container)
		}
	case UnmountVolumes:
		if keep != e.KeepLogs {
			l.t.Fatalf("volumes are given back with the logs kept: %t, want %t", e.KeepLogs, keep)
		}
		l.logsKept = e.KeepLogs
	case Finish:
		if l.logsKept {
			l.t.Fatalf("the pod is gone and its logs were kept")
		}
	}
}

// strays says whether the runtime has anything from calls that nobody waited for.
func (w *walk) strays() bool { return len(w.overdue)+len(w.late) > 0 || w.m.kept.StraySandbox }
