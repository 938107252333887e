package sim

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/sim/scenario"
)

// runtime is what a container runtime has of the pod, and what is wrong with it.
type runtime struct {
	lifecycle.PretendedRuntime
	address func() string // of a new sandbox; nil: see addresses

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
	*lifecycle.PretendedContainer
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
	answers [3]scenario.Answers // by kind of probe
	uses    []level             // of CPU and memory
}

// container is the instance with an ID; nil: there is none.
func (r *runtime) container(id string) *container {
	if c := r.Container(id); c != nil {
		return c.Process.(*container)
	}
	return nil
}

// change does what an effect asks of the runtime; what changes nothing there works.
func change(w *world, effect lifecycle.Effect) lifecycle.Fact {
	switch e := effect.(type) {
	case lifecycle.AdmitResize:
		return admitResize(w, e)
	case lifecycle.ResizeContainer:
		return resizeContainer(w, e)
	case lifecycle.CreateSandbox:
		w.runtime.IPs = addresses(w)
	}
	if ofRuntime(effect) {
		w.changed()
	}
	answer := w.runtime.Do(effect, w.wall())
	if created, is := answer.(lifecycle.ContainerCreated); is && created.Failure == nil {
		c := w.runtime.Container(created.ContainerID)
		of := &container{PretendedContainer: c, spec: specOf(w, c.Name), run: w.scenario.Of(c.Name, int(c.Attempt))}
		c.Image, c.StartError, c.Process = of.spec.Image, of.run.StartError, of
	}
	return answer
}

// addresses are those of a new sandbox.
func addresses(w *world) []string {
	switch {
	case w.pod.Spec.HostNetwork:
		return nil
	case w.runtime.address != nil:
		return []string{w.runtime.address()}
	}
	return []string{"10.88.0.2"} // a pod keeps its address, as with lifepod's own network
}

// sandboxExits ends the newest sandbox, and all that runs in it, unasked.
func sandboxExits(w *world) {
	for _, s := range slices.Backward(w.runtime.Sandboxes) {
		if s.Ready {
			announce(w, lifecycle.Words{Subject: "pod", What: "sandbox exits"})
			w.runtime.EndSandbox(s, w.wall())
			return
		}
	}
	announce(w, lifecycle.Words{Subject: "pod", What: "sandbox exits", Outcome: "nothing happens: none is ready"})
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

// hears takes an event of the runtime, and what follows from it.
func (w *world) hears(event lifecycle.Fact) {
	switch e := event.(type) {
	case lifecycle.ContainerRunning:
		c := w.runtime.container(e.ContainerID)
		if w.runtime.Beside(c.PretendedContainer) != nil {
			w.life.Doubles = append(w.life.Doubles, Double{c.Name, w.now})
		}
		c.began = w.now
		lives(w, c)
		tells(w, event)
	case lifecycle.ContainerExited:
		tells(w, event)
		exited(w, w.runtime.container(e.ContainerID))
	default:
		tells(w, event)
	}
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
