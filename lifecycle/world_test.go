package lifecycle

import (
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
)

// fataler is what tests and rapid checks have in common.
type fataler interface {
	Fatalf(format string, args ...any)
}

// world is a pretended runtime in which everything can happen: calls are
// carried out and answered at different moments, or one of the two never is;
// events wait in a stream where they can be lost and doubled.
type world struct {
	t           fataler
	now         time.Time
	calls       []*call
	late        []lateCall // given up by their caller, still to be carried out
	adoptions   int        // how often the machine was made anew of what others say
	events      []Fact
	sandboxes   []*ObservedSandbox
	containers  []*ObservedContainer
	lastNumber  int                                // for unique ids
	resources   map[string]v1.ResourceRequirements // that containers were given since they run
	crowded     bool                               // the node has no room for more
	addressless bool                               // the next sandbox gets no address
	overdue     map[string]int                     // ids made by late calls, which nobody can know, and the adoptions before the call
	written     int64                              // bytes in the volume that has a limit
	prepared    bool                               // drivers have the devices of the pod's claims ready
	found       EffectID                           // the MountVolumes that has found the pod's volumes last
}

// lateCall is an effect whose caller has long gone.
type lateCall struct {
	effect    Effect
	adoptions int // that there had been when it was asked for
}

// call is an effect under way.
type call struct {
	effect Effect
	answer Fact // set once the runtime is through with it
}

// outcome is how a call goes.
type outcome int

const (
	works            outcome = iota
	fails                    // refused, nothing done
	unavailable              // never reached the runtime
	unansweredUndone         // no answer, nothing done
	unansweredDone           // no answer, but carried out
	unansweredLate           // no answer, carried out later
	cannotStart              // refused; the instance that a start was for is kept as exited (A-CST-9)
)

func (o outcome) String() string {
	return [...]string{"works", "fails", "reaches nobody", "has no answer", "has no answer and works", "has no answer and works later", "cannot start"}[o]
}

// execute lets the runtime deal with a call; the answer is fed later.
func (w *world) execute(c *call, o outcome) {
	w.now = w.now.Add(time.Microsecond)
	uncertain := &Failure{Class: Uncertain, Message: "deadline exceeded"}
	switch o {
	case works:
		c.answer = w.perform(c.effect)
	case fails:
		c.answer = AnswerTo(c.effect, &Failure{Message: "refused"})
	case unavailable:
		c.answer = AnswerTo(c.effect, &Failure{Class: Unavailable, Message: "connection refused"})
	case unansweredDone:
		w.perform(c.effect)
		c.answer = AnswerTo(c.effect, uncertain)
	case unansweredLate:
		w.comesLate(c.effect)
		c.answer = AnswerTo(c.effect, uncertain)
	case unansweredUndone:
		c.answer = AnswerTo(c.effect, uncertain)
	case cannotStart:
		w.keepsUnstarted(c.effect)
		c.answer = AnswerTo(c.effect, &Failure{Message: "no such file"})
	}
}

// keepsUnstarted ends the instance that could not be started.
func (w *world) keepsUnstarted(e Effect) {
	start, is := e.(StartContainer)
	if !is {
		return
	}
	if c := w.container(start.ContainerID); c != nil && c.State == StateCreated {
		exit := ContainerExited{ContainerID: c.ID, ExitCode: 128, Reason: reasonStartError, FinishedAt: w.now}
		c.State, c.Exit = StateExited, &exit
		w.events = append(w.events, exit)
	}
}

func (w *world) comesLate(e Effect) { w.late = append(w.late, lateCall{e, w.adoptions}) }

// performLate carries out a call whose caller has long gone.
func (w *world) performLate(i int) {
	before, l := w.lastNumber, w.late[i]
	if _, claims := l.effect.(PrepareClaims); !claims {
		w.perform(l.effect)
	}
	if w.lastNumber > before {
		w.overdue[w.lastID()] = l.adoptions
	}
	w.late = slices.Delete(w.late, i, i+1)
}

// isOverdue says whether a late call created the object with that ID.
func (w *world) isOverdue(id string) bool {
	_, is := w.overdue[id]
	return is
}

// lateCreates says whether a container is still to be created.
func (w *world) lateCreates() bool {
	return slices.ContainsFunc(w.late, func(l lateCall) bool {
		_, create := l.effect.(CreateContainer)
		return create
	})
}

func (w *world) lastID() string { return fmt.Sprintf("id%d", w.lastNumber) }

func (w *world) newID() string {
	w.lastNumber++
	return w.lastID()
}

// perform does what the effect asks for, as a runtime does it.
func (w *world) perform(e Effect) Fact {
	r := Result{ID: e.EffectID()}
	w.performClaims(e)
	switch e := e.(type) {
	case CreateSandbox:
		return w.createSandbox(e, r)
	case StopSandbox:
		if s := w.sandbox(e.SandboxID); s != nil {
			s.Ready = false
			w.killAll(s.ID)
		}
		return SandboxStopped{r}
	case RemoveSandbox:
		w.killAll(e.SandboxID)
		w.sandboxes = slices.DeleteFunc(w.sandboxes, func(s *ObservedSandbox) bool { return s.ID == e.SandboxID })
		w.containers = slices.DeleteFunc(w.containers, func(c *ObservedContainer) bool { return c.SandboxID == e.SandboxID })
		return SandboxRemoved{r}
	case CreateContainer:
		return w.createContainer(e, r)
	case StartContainer:
		return w.startContainer(e, r)
	case StopContainer:
		c := w.container(e.ContainerID)
		if c == nil {
			return AnswerTo(e, &Failure{Class: NotFound, Message: "not found"})
		}
		w.end(c, 143, "Error")
		return ContainerStopped{r}
	case RemoveContainer:
		w.containers = slices.DeleteFunc(w.containers, func(c *ObservedContainer) bool { return c.ID == e.ContainerID })
		return ContainerRemoved{r}
	case Observe:
		return w.snapshot(r)
	case AdmitResize, MeasureMemory, ResizeCgroup, ResizeContainer:
		return w.performResize(e, r)
	case MeasureStorage:
		return StorageMeasured{Result: r, Volumes: []StorageUsage{{Name: "limited", Bytes: w.written}}}
	}
	return (&pretendedRuntime{}).carryOut(w.t, e, w.now)[0]
}

func (w *world) createSandbox(e CreateSandbox, r Result) Fact {
	for _, s := range w.sandboxes {
		if s.Attempt == e.Attempt {
			return AnswerTo(e, &Failure{Message: "name is reserved"})
		}
	}
	s := &ObservedSandbox{ID: w.newID(), Attempt: e.Attempt, Ready: true, IPs: []string{"10.0.0.2"}}
	if w.addressless {
		s.IPs, w.addressless = nil, false
	}
	w.sandboxes = append(w.sandboxes, s)
	return SandboxCreated{Result: r, SandboxID: s.ID, IPs: s.IPs}
}

func (w *world) createContainer(e CreateContainer, r Result) Fact {
	if s := w.sandbox(e.SandboxID); s == nil || !s.Ready {
		return AnswerTo(e, &Failure{Message: "sandbox is not running"})
	}
	for _, c := range w.containers {
		if c.Name == e.Container && c.Attempt == e.Attempt {
			return AnswerTo(e, &Failure{Message: "name is reserved"})
		}
	}
	c := &ObservedContainer{ID: w.newID(), Name: e.Container, Attempt: e.Attempt, SandboxID: e.SandboxID}
	w.containers = append(w.containers, c)
	return ContainerCreated{Result: r, ContainerID: c.ID}
}

func (w *world) startContainer(e StartContainer, r Result) Fact {
	c := w.container(e.ContainerID)
	if c == nil {
		return AnswerTo(e, &Failure{Class: NotFound, Message: "not found"})
	}
	if s := w.sandbox(c.SandboxID); !s.Ready || c.State != StateCreated {
		return AnswerTo(e, &Failure{Message: "cannot be started"})
	}
	for _, other := range w.containers {
		if other != c && other.Name == c.Name && other.State == StateRunning {
			w.t.Fatalf("two instances of %s run: %s and %s", c.Name, other.ID, c.ID)
		}
	}
	c.State, c.StartedAt = StateRunning, w.now
	w.events = append(w.events, ContainerRunning{ContainerID: c.ID, StartedAt: w.now})
	return ContainerStarted{Result: r}
}

func (w *world) end(c *ObservedContainer, code int32, reason string) {
	if c.State != StateRunning && c.State != StateUnknown {
		return
	}
	exit := ContainerExited{ContainerID: c.ID, ExitCode: code, Reason: reason, StartedAt: c.StartedAt, FinishedAt: w.now}
	c.State, c.Exit = StateExited, &exit
	w.events = append(w.events, exit)
}

func (w *world) killAll(sandboxID string) {
	for _, c := range w.containers {
		if c.SandboxID == sandboxID {
			w.end(c, 137, "Error")
		}
	}
}

// sandboxDies ends a sandbox and what runs in it, unasked.
func (w *world) sandboxDies(s *ObservedSandbox) {
	s.Ready = false
	w.killAll(s.ID)
	w.events = append(w.events, SandboxExited{SandboxID: s.ID})
}

func (w *world) snapshot(r Result) Observed {
	o := Observed{Result: r, Began: w.now}
	for _, s := range w.sandboxes {
		o.Sandboxes = append(o.Sandboxes, *s)
	}
	for _, c := range w.containers {
		o.Containers = append(o.Containers, *c)
	}
	return o
}

func (w *world) sandbox(id string) *ObservedSandbox {
	for _, s := range w.sandboxes {
		if s.ID == id {
			return s
		}
	}
	return nil
}

func (w *world) addresses(id string) []string {
	if s := w.sandbox(id); s != nil {
		return s.IPs
	}
	return nil
}

func (w *world) container(id string) *ObservedContainer {
	for _, c := range w.containers {
		if c.ID == id {
			return c
		}
	}
	return nil
}

func (w *world) running() []*ObservedContainer {
	var list []*ObservedContainer
	for _, c := range w.containers {
		if c.State == StateRunning {
			list = append(list, c)
		}
	}
	return list
}
