package sim

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/sim/scenario"
)

// runtime is what a container runtime has of the pod.
type runtime struct {
	sandboxes  []*lifecycle.ObservedSandbox
	containers []*container

	address func() string // of a new sandbox; nil: see createSandbox

	last      int           // for IDs
	times     int           // how often it was started: a call ends with the one that it was made to
	offUntil  time.Duration // until then the node is off
	downUntil time.Duration // until then it can't be reached
	deafUntil time.Duration // until then its events are lost
	// doubledUntil and delayedUntil are until when its events come twice, and later by delay.
	doubledUntil, delayedUntil time.Duration
	delay                      *scenario.Span
	quiet                      int  // snapshots since something has changed
	looking                    bool // the next snapshot is due
}

// container is one instance.
type container struct {
	lifecycle.ObservedContainer
	spec  *v1.Container
	run   scenario.Run
	began time.Duration // when its process was started

	ready   time.Duration // since began
	drawn   drawn
	waiting []*call // StopContainers that wait for its end
	ending  bool    // it has got its stop signal, and ends by itself
}

// drawn is what an instance does over time, since it began.
type drawn struct {
	answers [3][]answer // by kind of probe
	uses    []level     // of CPU and memory
}

// answer is what a probe gets from a time on, since the instance began.
type answer struct {
	from time.Duration
	says *scenario.Answer
}

func (r *runtime) newID(what string) string {
	r.last++
	return what + "-" + strconv.Itoa(r.last)
}

func (r *runtime) container(id string) *container {
	for _, c := range r.containers {
		if c.ID == id {
			return c
		}
	}
	return nil
}

func (r *runtime) sandbox(id string) *lifecycle.ObservedSandbox {
	for _, s := range r.sandboxes {
		if s.ID == id {
			return s
		}
	}
	return nil
}

// snapshot is all that the runtime has. began is when the listing began, by the wall clock as it is set now.
func (r *runtime) snapshot(e lifecycle.Observe, began time.Time) lifecycle.Fact {
	o := lifecycle.Observed{Result: lifecycle.Result{ID: e.ID}, Began: began}
	for _, s := range r.sandboxes {
		o.Sandboxes = append(o.Sandboxes, *s)
	}
	for _, c := range r.containers {
		o.Containers = append(o.Containers, c.ObservedContainer)
	}
	return o
}

func createSandbox(w *world, e lifecycle.CreateSandbox) lifecycle.Fact {
	for _, s := range w.runtime.sandboxes {
		if s.Attempt == e.Attempt {
			return failed(e, lifecycle.Failed, fmt.Sprintf("failed to reserve sandbox name: attempt %d is reserved for %s", e.Attempt, s.ID))
		}
	}
	s := &lifecycle.ObservedSandbox{ID: w.runtime.newID("sandbox"), Attempt: e.Attempt, Ready: true}
	switch {
	case w.pod.Spec.HostNetwork:
	case w.runtime.address != nil:
		s.IPs = []string{w.runtime.address()}
	default:
		s.IPs = []string{"10.88.0.2"} // a pod keeps its address, as with lifepod's own network
	}
	w.runtime.sandboxes = append(w.runtime.sandboxes, s)
	w.changed()
	return lifecycle.SandboxCreated{Result: lifecycle.Result{ID: e.ID}, SandboxID: s.ID, IPs: s.IPs}
}

func stopSandbox(w *world, e lifecycle.StopSandbox) lifecycle.Fact {
	if s := w.runtime.sandbox(e.SandboxID); s != nil {
		s.Ready = false
		killAll(w, s.ID)
	}
	w.changed()
	return lifecycle.AnswerTo(e, nil)
}

func removeSandbox(w *world, e lifecycle.RemoveSandbox) lifecycle.Fact {
	killAll(w, e.SandboxID)
	w.runtime.sandboxes = slices.DeleteFunc(w.runtime.sandboxes, func(s *lifecycle.ObservedSandbox) bool { return s.ID == e.SandboxID })
	w.runtime.containers = slices.DeleteFunc(w.runtime.containers, func(c *container) bool { return c.SandboxID == e.SandboxID })
	w.changed()
	return lifecycle.AnswerTo(e, nil)
}

// sandboxExits ends the newest sandbox, and all that runs in it, unasked.
func sandboxExits(w *world) {
	for _, s := range slices.Backward(w.runtime.sandboxes) {
		if s.Ready {
			s.Ready = false
			announce(w, lifecycle.Words{Subject: "pod", What: "sandbox exits"})
			killAll(w, s.ID)
			tells(w, lifecycle.SandboxExited{SandboxID: s.ID})
			return
		}
	}
	announce(w, lifecycle.Words{Subject: "pod", What: "sandbox exits", Outcome: "nothing happens: none is ready"})
}

func killAll(w *world, sandbox string) {
	for _, c := range w.runtime.containers {
		if c.SandboxID == sandbox {
			exits(w, c, killed)
		}
	}
}

func createContainer(w *world, e lifecycle.CreateContainer) lifecycle.Fact {
	if s := w.runtime.sandbox(e.SandboxID); s == nil || !s.Ready {
		return failed(e, lifecycle.Failed, "sandbox is not running")
	}
	for _, c := range w.runtime.containers {
		if c.Name == e.Container && c.Attempt == e.Attempt {
			return failed(e, lifecycle.Failed, fmt.Sprintf("failed to reserve container name: %s of attempt %d is reserved for %s", c.Name, c.Attempt, c.ID))
		}
	}
	c := &container{spec: specOf(w, e.Container), run: w.scenario.Of(e.Container, int(e.Attempt))}
	c.ID, c.Name, c.Attempt, c.SandboxID = w.runtime.newID(e.Container), e.Container, e.Attempt, e.SandboxID
	w.runtime.containers = append(w.runtime.containers, c)
	w.changed()
	return lifecycle.ContainerCreated{Result: lifecycle.Result{ID: e.ID}, ContainerID: c.ID}
}

func removeContainer(w *world, e lifecycle.RemoveContainer) lifecycle.Fact {
	if c := w.runtime.container(e.ContainerID); c != nil {
		exits(w, c, killed)
	}
	w.runtime.containers = slices.DeleteFunc(w.runtime.containers, func(c *container) bool { return c.ID == e.ContainerID })
	w.changed()
	return lifecycle.AnswerTo(e, nil)
}

func specOf(w *world, name string) *v1.Container {
	for _, list := range [][]v1.Container{w.pod.Spec.InitContainers, w.pod.Spec.Containers} {
		for i := range list {
			if list[i].Name == name {
				return &list[i]
			}
		}
	}
	return &v1.Container{Name: name}
}

// tells sends an event of the runtime, which may be lost, come twice or late.
func tells(w *world, fact lifecycle.Fact) {
	w.changed()
	if w.now < w.runtime.downUntil || w.now < w.runtime.deafUntil {
		return
	}
	w.learns(eventDelay(w), fact)
	if w.now < w.runtime.doubledUntil {
		w.learns(eventDelay(w), fact)
	}
}

// eventDelay is how much later than usual an event of the runtime comes. It is another one for
// each, so that they come in another order.
func eventDelay(w *world) time.Duration {
	if w.now < w.runtime.delayedUntil {
		return w.runtime.delay.Draw(w.dice, time.Duration(w.dice.Int64N(int64(usualDelay))))
	}
	return 0
}
