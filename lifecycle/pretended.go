package lifecycle

import (
	"fmt"
	"slices"
	"strconv"
	"time"
)

// PretendedRuntime is what a container runtime has of one pod, without any process: transcripts, random walks and package
// sim put one around their machine. What it is asked for is done at once. How long calls take, which of them fail or are
// never answered, what becomes of events, and what processes do by themselves is up to its owner, who may change all that it
// has. It is not safe for use by several goroutines at once.
type PretendedRuntime struct {
	Sandboxes  []*ObservedSandbox    // in the order of their creation
	Containers []*PretendedContainer // likewise

	IPs   []string                                 // of the next sandbox
	NewID func(name string, attempt uint32) string // of a container's instance, or of a "sandbox"; nil: name-1, name-2 …
	Tell  func(Fact)                               // takes events: ContainerRunning, ContainerExited, SandboxExited; nil: nobody does

	made int // IDs, if there is no NewID
}

// PretendedContainer is one instance.
type PretendedContainer struct {
	ObservedContainer
	Image      string // that ContainerRunning names
	StartError string // it can't be started, with these words; empty: it can
	Process    any    // the owner's: what it knows of it besides
}

// Do does what an effect asks of the runtime, and gives its answer. A process ends at once at its stop signal. An effect that
// asks for nothing that the runtime has works.
func (r *PretendedRuntime) Do(e Effect, now time.Time) Fact {
	switch e := e.(type) {
	case CreateSandbox:
		return r.createSandbox(e)
	case StopSandbox:
		if s := r.Sandbox(e.SandboxID); s != nil {
			r.stopSandbox(s, now)
		}
	case RemoveSandbox:
		if s := r.Sandbox(e.SandboxID); s != nil {
			r.stopSandbox(s, now)
			r.Sandboxes = slices.DeleteFunc(r.Sandboxes, func(o *ObservedSandbox) bool { return o == s })
			r.Containers = slices.DeleteFunc(r.Containers, func(c *PretendedContainer) bool { return c.SandboxID == s.ID })
		}
	case CreateContainer:
		return r.createContainer(e)
	case StartContainer:
		return r.startContainer(e, now)
	case StopContainer:
		c := r.Container(e.ContainerID)
		if c == nil {
			return AnswerTo(e, &Failure{Class: NotFound, Message: "container not found"})
		}
		r.End(c, ContainerExited{ExitCode: 143, Reason: "Error"}, now)
	case RemoveContainer:
		if c := r.Container(e.ContainerID); c != nil {
			r.Kill(c, now)
			r.Forget(c)
		}
	case Observe:
		return r.Snapshot(Result{ID: e.ID}, now)
	}
	return AnswerTo(e, nil)
}

func (r *PretendedRuntime) createSandbox(e CreateSandbox) Fact {
	for _, s := range r.Sandboxes {
		if s.Attempt == e.Attempt {
			return AnswerTo(e, &Failure{Message: fmt.Sprintf("failed to reserve sandbox name: attempt %d is reserved for %s", e.Attempt, s.ID)})
		}
	}
	s := &ObservedSandbox{ID: r.newID("sandbox", e.Attempt), Attempt: e.Attempt, Ready: true, IPs: r.IPs}
	r.Sandboxes = append(r.Sandboxes, s)
	return SandboxCreated{Result: Result{ID: e.ID}, SandboxID: s.ID, IPs: s.IPs}
}

func (r *PretendedRuntime) createContainer(e CreateContainer) Fact {
	refused := func(message string) Fact {
		return AnswerTo(e, &Failure{Reason: "CreateContainerError", Message: message})
	}
	if s := r.Sandbox(e.SandboxID); s == nil || !s.Ready {
		return refused("sandbox is not running")
	}
	for _, c := range r.Containers {
		if c.Name == e.Container && c.Attempt == e.Attempt {
			return refused(fmt.Sprintf("failed to reserve container name: %s of attempt %d is reserved for %s", c.Name, c.Attempt, c.ID))
		}
	}
	c := &PretendedContainer{}
	c.ID, c.Name, c.Attempt, c.SandboxID = r.newID(e.Container, e.Attempt), e.Container, e.Attempt, e.SandboxID
	r.Containers = append(r.Containers, c)
	return ContainerCreated{Result: Result{ID: e.ID}, ContainerID: c.ID}
}

func (r *PretendedRuntime) newID(name string, attempt uint32) string {
	if r.NewID != nil {
		return r.NewID(name, attempt)
	}
	r.made++
	return name + "-" + strconv.Itoa(r.made)
}

// startContainer starts an instance. One that can't be started is kept as exited, which no event tells (A-CST-9).
func (r *PretendedRuntime) startContainer(e StartContainer, now time.Time) Fact {
	c := r.Container(e.ContainerID)
	if c == nil {
		return AnswerTo(e, &Failure{Class: NotFound, Message: "container not found"})
	}
	if s := r.Sandbox(c.SandboxID); s == nil || !s.Ready || c.State != StateCreated {
		return AnswerTo(e, &Failure{Message: "container can't be started"})
	}
	if c.StartError != "" {
		c.State = StateExited
		c.Exit = &ContainerExited{ContainerID: c.ID, ExitCode: 128, Reason: reasonStartError, Message: c.StartError, FinishedAt: now}
		return AnswerTo(e, &Failure{Message: c.StartError})
	}
	c.State, c.StartedAt = StateRunning, now
	r.tell(ContainerRunning{ContainerID: c.ID, StartedAt: now, Image: c.Image})
	return AnswerTo(e, nil)
}

// End ends an instance's process, if it runs; as says how.
func (r *PretendedRuntime) End(c *PretendedContainer, as ContainerExited, now time.Time) {
	if c.State != StateRunning && c.State != StateUnknown {
		return
	}
	exit := as // which only an end allocates
	exit.ContainerID, exit.StartedAt, exit.FinishedAt = c.ID, c.StartedAt, now
	c.State, c.Exit = StateExited, &exit
	r.tell(exit)
}

// Kill ends an instance's process by SIGKILL, if it runs.
func (r *PretendedRuntime) Kill(c *PretendedContainer, now time.Time) {
	r.End(c, ContainerExited{ExitCode: 137, Reason: "Error"}, now)
}

// Forget loses an instance, and nobody is told.
func (r *PretendedRuntime) Forget(c *PretendedContainer) {
	r.Containers = slices.DeleteFunc(r.Containers, func(o *PretendedContainer) bool { return o == c })
}

// EndSandbox ends a sandbox and what runs in it, unasked.
func (r *PretendedRuntime) EndSandbox(s *ObservedSandbox, now time.Time) {
	r.stopSandbox(s, now)
	r.tell(SandboxExited{SandboxID: s.ID})
}

func (r *PretendedRuntime) stopSandbox(s *ObservedSandbox, now time.Time) {
	s.Ready = false
	for _, c := range r.Containers {
		if c.SandboxID == s.ID {
			r.Kill(c, now)
		}
	}
}

func (r *PretendedRuntime) tell(event Fact) {
	if r.Tell != nil {
		r.Tell(event)
	}
}

// Snapshot is all that the runtime has, from a listing that began then.
func (r *PretendedRuntime) Snapshot(result Result, began time.Time) Observed {
	o := Observed{Result: result, Began: began}
	for _, s := range r.Sandboxes {
		o.Sandboxes = append(o.Sandboxes, *s)
	}
	for _, c := range r.Containers {
		o.Containers = append(o.Containers, c.ObservedContainer)
	}
	return o
}

// Sandbox is the one with an ID; nil: there is none.
func (r *PretendedRuntime) Sandbox(id string) *ObservedSandbox {
	for _, s := range r.Sandboxes {
		if s.ID == id {
			return s
		}
	}
	return nil
}

// Container is the instance with an ID; nil: there is none.
func (r *PretendedRuntime) Container(id string) *PretendedContainer {
	for _, c := range r.Containers {
		if c.ID == id {
			return c
		}
	}
	return nil
}

// Beside is another instance of the same container that runs, which must never be; nil: there is none.
func (r *PretendedRuntime) Beside(c *PretendedContainer) *PretendedContainer {
	for _, other := range r.Containers {
		if other != c && other.Name == c.Name && other.State == StateRunning {
			return other
		}
	}
	return nil
}
