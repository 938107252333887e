package lifecycle

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/lifepod/lifepod/internal/prove/walks"
)

// adopted makes the next lifepod's machine from the API server and the runtime, as for a
// pod of a kubelet. What neither of them has is forgotten, by the laws as well:
// back-offs, hooks, counts of failures.
func (w *walk) adopted() {
	w.note("adopted", true)
	pod := w.newestObject()
	pod.Status = writtenStatus(w.rt, w.laws.status)
	keepsGroup(pod, w.pod)
	withAttempt(pod, w.m)
	seen := w.snapshot()
	w.logs(func(tr *transcript) { tr.tellsAdoption(w.rt, adoption{pod, seen}) })
	w.m = Adopt(pod, w.m.options, seen)
	w.pod, w.saved = pod, nil
	w.adoptions++
	w.laws.forget(w)
	w.feed(Resumed{})
}

// writtenStatus is a status as an API server keeps it.
func writtenStatus(t fataler, status v1.PodStatus) v1.PodStatus {
	data, err := json.Marshal(status)
	if err != nil {
		t.Fatalf("%v", err)
	}
	var written v1.PodStatus
	if err := json.Unmarshal(data, &written); err != nil {
		t.Fatalf("%v", err)
	}
	return written
}

// forget leaves the laws with what a status has: what was counted or ran and was not
// published before the agent was killed is lost (B-RST-4).
func (l *invariants) forget(w *walk) {
	l.adopted, l.lastID, l.stage, l.startTime = true, 0, w.m.kept.Stage, time.Time{}
	l.probes.crash()
	clear(l.runs)
	clear(l.hooks)
	clear(l.signalled)
	clear(l.allocated)
	l.allocatedOf = nil
	clear(l.counts)
	l.evicted, l.logsKept, l.finished = EvictionRequested{}, false, false
	l.confirmed = w.m.restartAll.Announced
	ranOnce := l.ranOnce
	l.ranOnce = map[string]string{}
	for _, c := range containersOf(l.status) {
		l.counts[c.Name] = c.RestartCount
		shown := c.State.Running != nil || c.State.Terminated != nil // that it ran
		if id := idWithoutScheme(c.ContainerID); id != "" && ranOnce[c.Name] == id && shown {
			l.ranOnce[c.Name] = id
		}
		if c.Started != nil && *c.Started {
			l.probes.started[idWithoutScheme(c.ContainerID)] = true
			l.probes.gates[w.m.sandbox.ID+" "+c.Name] = true
		}
	}
	for _, c := range w.m.containers {
		l.instances[c.spec.Name] = &instances{newest: c.ID, all: c.RestartCount + 1, ran: c.RestartCount, counts: true}
	}
}

func containersOf(status v1.PodStatus) []v1.ContainerStatus {
	return slices.Concat(status.InitContainerStatuses, status.ContainerStatuses, status.EphemeralContainerStatuses)
}

// TestAdoptQuiet: adopting does not disturb a running pod: nothing of it is stopped,
// removed, created, started or run again, and its status stays (B-RST-1, B-RST-6,
// B-RST-8).
func TestAdoptQuiet(t *testing.T) {
	t.Parallel()
	adopted, seen := 0, map[string]int{}
	rapid.Check(t, func(rt *rapid.T) {
		w := newWalk(rt, randomPod(rt), seen)
		w.faultRate = []int{0, 1}[w.draw(2, "trouble")]
		w.feed(Accepted{})
		for range w.draw(50, "steps") {
			w.act()
		}
		w.comesToRest()
		if w.m.Stage() != Syncing || !w.quiet() || w.m.pod.Spec.ActiveDeadlineSeconds != nil || w.written > 0 || len(w.overdue) > 0 || !w.healthy() {
			return
		}
		adopted++
		before := w.laws.status
		w.adopted()
		for range 20 {
			for _, c := range w.calls {
				if w.touches(c.effect) {
					rt.Fatalf("%s because the pod was adopted", effectText(c.effect))
				}
			}
			w.idles()
		}
		if diff := cmp.Diff(writtenStatus(rt, before), writtenStatus(rt, w.laws.status)); diff != "" {
			rt.Fatalf("status (-before +after):\n%s", diff)
		}
	})
	walks.Log(t, seen, nil)
	if adopted == 0 {
		t.Error("no pod was adopted")
	}
}

// touches says whether an effect concerns what runs, or would make something run. Strays
// may go.
func (w *walk) touches(e Effect) bool {
	switch e := e.(type) {
	case StopContainer, CreateContainer, StartContainer, CreateSandbox, StopSandbox, RunHook, AdmitResize, ResizeContainer:
		return true
	case RemoveSandbox:
		return e.SandboxID == w.m.sandbox.ID
	case RemoveContainer:
		c := w.m.containerNamed(e.Container)
		return e.ContainerID == c.ID || e.ContainerID == c.PreviousID
	}
	return false
}

// idles lets everything work and nothing end.
func (w *walk) idles() {
	switch {
	case len(w.calls) > 0:
		w.goOn()
	case len(w.events) > 0:
		w.deliver(0, false)
	default:
		w.pause()
	}
}

// healthy says whether only time and probes would change the pod.
func (w *walk) healthy() bool {
	if w.m.sandbox.State != sandboxReady || len(w.addresses(w.m.sandbox.ID)) == 0 {
		return false // it is being stopped, or nobody has looked yet
	}
	for _, c := range w.m.containers { // events may have been lost: of an end, or of the time of a start
		if o := w.Container(c.ID); c.Position == running && (o == nil || o.State != StateRunning || !o.StartedAt.Equal(c.StartedAt)) {
			return false
		}
	}
	return !slices.ContainsFunc(w.m.containers, func(c *container) bool {
		if c.kind == ephemeralContainer {
			return c.Position != running && c.Position != exited
		}
		return !(c.Position == running && c.Kill == nil && !c.Ending && (c.ready() || c.kind == initContainer) || c.kind == initContainer && c.done() || c.final())
	})
}
