package lifecycle

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/lifepod/lifepod/internal/prove/walks"
)

// TestConvergingWalks leads each pod through two lives in which its processes do the same:
// one without faults, and one in which calls fail, have no answer or come late, events are
// lost, doubled and out of order, and lifepod is killed. Once the faults stop, the second
// comes to where the first is; and asked for its end, it is gone in time with nothing
// left (B-FIN-6, B-RST-1, A-CST-10, A-SYNC-9).
func TestConvergingWalks(t *testing.T) {
	t.Parallel()
	seen := map[string]int{}
	rapid.Check(t, func(rt *rapid.T) {
		pod, ends := scriptedPod(rt)
		faultless := newScripted(rt, pod, ends, map[string]int{})
		faultless.feed(Accepted{})
		faultless.toRest()
		w := newScripted(rt, pod, ends, seen)
		w.faultRate = []int{1, 4, 8}[w.draw(3, "trouble")]
		w.feed(Accepted{})
		for range w.draw(120, "steps") {
			w.troubled()
		}
		w.faultRate = 0
		w.toRest()
		if want, got := faultless.reached(), w.reached(); want != got {
			rt.Fatalf("after its faults the pod is\n%swithout any it is\n%s", got, want)
		}
		w.stops()
	})
	walks.Log(t, seen, nil)
}

// scripted is a walk in which the exits of processes are the pod's, and not chance.
type scripted struct {
	*walk
	ends map[string][]int32 // exit codes of the runs of each container, in order; what runs after those runs for ever
	runs map[string]int     // how many runs of each container there have been
	run  map[string]int     // the number of each instance's run
}

func newScripted(rt *rapid.T, pod *v1.Pod, ends map[string][]int32, seen map[string]int) *scripted {
	w := newWalkOf(rt, pod, optionsOf(false), seen)
	w.outcomes = int(cannotStart) // an instance that could not be started has an exit that is not in the script
	return &scripted{walk: w, ends: ends, runs: map[string]int{}, run: map[string]int{}}
}

// scriptedPod draws a pod in which nothing depends on how long calls take: no container ends
// another, or the pod, while others run.
func scriptedPod(rt *rapid.T) (*v1.Pod, map[string][]int32) {
	pod := randomPod(rt)
	pod.Spec.ActiveDeadlineSeconds = nil
	ends := map[string][]int32{}
	for _, list := range [][]v1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range list {
			c := &list[i]
			c.Lifecycle = nil
			c.RestartPolicyRules = slices.DeleteFunc(c.RestartPolicyRules, func(r v1.ContainerRestartRule) bool {
				return r.Action != v1.ContainerRestartRuleActionRestart && r.Action != ActionComplete
			})
			ends[c.Name] = rapid.SliceOfN(rapid.SampledFrom([]int32{0, 1, 42}), 0, 3).Draw(rt, "ends of "+c.Name)
		}
	}
	for i := range pod.Spec.InitContainers {
		if c := &pod.Spec.InitContainers[i]; c.RestartPolicy == nil || *c.RestartPolicy != v1.ContainerRestartPolicyAlways {
			ends[c.Name] = append(ends[c.Name], 0, 0, 0, 0, 0, 0) // after one, no other is waited for
		}
	}
	pod.Spec.ReadinessGates = nil
	for i := range pod.Spec.Volumes {
		if image := pod.Spec.Volumes[i].Image; image != nil {
			image.PullPolicy = v1.PullIfNotPresent
		}
	}
	return pod, ends
}

// ending is a process whose end is due.
func (w *scripted) ending() *PretendedContainer {
	for _, c := range w.running() {
		run, known := w.run[c.ID]
		if !known {
			run = w.runs[c.Name]
			w.run[c.ID], w.runs[c.Name] = run, run+1
		}
		if run < len(w.ends[c.Name]) {
			return c
		}
	}
	return nil
}

func (w *scripted) endOne() bool {
	c := w.ending()
	if c == nil {
		return false
	}
	code, reason := w.ends[c.Name][w.run[c.ID]], "Completed"
	if code != 0 {
		reason = "Error"
	}
	w.end(c, code, reason)
	return true
}

// troubled lets one thing happen while things go wrong.
func (w *scripted) troubled() {
	switch action := w.draw(30, "action"); {
	case action < 10:
		w.goOn()
	case action < 13 && len(w.calls) > 0:
		if c := w.calls[w.draw(len(w.calls), "call")]; c.answer == nil {
			w.execute(c, w.outcome(c.effect))
		}
	case action < 17 && len(w.events) > 0:
		w.deliver(w.draw(len(w.events), "event"), w.draw(5, "doubled") == 0)
	case action < 19 && len(w.events) > 0:
		i := w.draw(len(w.events), "lost event")
		w.events = slices.Delete(w.events, i, i+1)
		w.note(walks.Fault+"event lost", true)
	case action < 21:
		w.endOne()
	case action < 22:
		w.snapshots = append(w.snapshots, w.snapshot())
	case action < 23 && len(w.snapshots) > 0:
		w.feed(w.snapshots[0])
		w.snapshots = w.snapshots[1:]
	case action < 27:
		w.timePasses()
	case action < 28 && len(w.late) > 0:
		w.performLate(w.draw(len(w.late), "late"))
	case action >= 28 && w.saved != nil && w.m.Stage() != Gone:
		w.killed()
	}
}

// killed ends lifepod after its last step, and begins the next one.
func (w *scripted) killed() {
	w.note(walks.Fault+"lifepod killed", true)
	for _, c := range w.calls {
		if c.answer != nil {
			continue
		}
		switch w.draw(3, "a call at the kill") {
		case 1:
			w.perform(c.effect)
		case 2:
			w.comesLate(c.effect)
		}
	}
	w.calls, w.snapshots, w.events, w.wakeAt, w.found = nil, nil, nil, time.Time{}, 0
	w.restored()
}

// toRest lets everything work until nothing changes any more.
func (w *scripted) toRest() {
	for range 4000 {
		switch {
		case w.m.Stage() == Gone || w.m.Resting():
			return
		case w.quiet() && w.ending() == nil && w.m.Stage() == Syncing && !w.m.unseen && w.allRun() && w.sidecarsRun() && !w.missesAnEnd():
			return
		case len(w.late)+len(w.calls)+len(w.events) > 0:
			w.workOn()
		case w.groupGoesOn():
		case !w.endOne():
			w.pause()
		}
	}
	w.rt.Fatalf("the pod neither ends nor runs: stage %v, %d calls, status %+v", w.m.Stage(), len(w.calls), w.m.Status())
}

// sidecarsRun says that every sidecar is ready or has ended for good.
func (w *scripted) sidecarsRun() bool {
	return !slices.ContainsFunc(w.m.inits(), func(c *container) bool {
		return c.kind == sidecarContainer && !c.ready() && !c.final()
	})
}

// missesAnEnd says that the end of a process was lost, and is yet to be found.
func (w *scripted) missesAnEnd() bool {
	return slices.ContainsFunc(w.m.containers, func(c *container) bool {
		o := w.Container(c.ID)
		return c.Position == running && (o == nil || o.State != StateRunning)
	})
}

// reached is where a pod has come to, but for what faults may change: times, IDs, how often
// something was tried, and in a pod that has ended what its sidecars did meanwhile.
func (w *scripted) reached() string {
	var b strings.Builder
	s := w.m.Status()
	fmt.Fprintf(&b, "  %s %s\n", s.Phase, s.Reason)
	for _, c := range s.Conditions {
		if c.Type == v1.AllContainersRestarting && c.Status == v1.ConditionFalse {
			continue // there was a restart of all, which its group needs if a fault has lost what it knew of that (B-RAC-3)
		}
		fmt.Fprintf(&b, "  %s=%s %s\n", c.Type, c.Status, c.Reason)
	}
	for _, list := range [][]v1.ContainerStatus{s.InitContainerStatuses, s.ContainerStatuses} {
		for i := range list {
			c := &list[i]
			if w.m.Stage() != Syncing && w.m.containerNamed(c.Name).kind == sidecarContainer {
				continue
			}
			fmt.Fprintf(&b, "  %s ready=%t restarts=%d %s, before %s\n", c.Name, c.Ready, c.RestartCount, stateOfStatus(&c.State), stateOfStatus(&c.LastTerminationState))
		}
	}
	return b.String()
}

func stateOfStatus(s *v1.ContainerState) string {
	switch {
	case s.Running != nil:
		return "running"
	case s.Waiting != nil:
		return s.Waiting.Reason
	case s.Terminated != nil:
		return fmt.Sprintf("ended %d %s", s.Terminated.ExitCode, s.Terminated.Reason)
	}
	return "nothing"
}
