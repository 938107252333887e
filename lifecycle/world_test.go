package lifecycle

import (
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
	PretendedRuntime
	t         fataler
	now       time.Time
	calls     []*call
	late      []lateCall // given up by their caller, still to be carried out
	adoptions int        // how often the machine was made anew of what others say
	events    []Fact
	resources map[string]v1.ResourceRequirements // that containers were given since they run
	crowded   bool                               // the node has no room for more
	overdue   map[string]int                     // ids made by late calls, which nobody can know, and the adoptions before the call
	written   int64                              // bytes in the volume that has a limit
	prepared  bool                               // drivers have the devices of the pod's claims ready
	found     EffectID                           // the MountVolumes that has found the pod's volumes last
}

func newWorld(t fataler, now time.Time) *world {
	w := &world{t: t, now: now, overdue: map[string]int{}, resources: map[string]v1.ResourceRequirements{}}
	w.IPs, w.Tell = usualIPs, w.hears
	return w
}

// usualIPs are those of sandboxes.
var usualIPs = []string{"10.0.0.2"}

// hears keeps an event for the stream.
func (w *world) hears(event Fact) {
	if start, is := event.(ContainerRunning); is {
		c := w.Container(start.ContainerID)
		if other := w.Beside(c); other != nil {
			w.t.Fatalf("two instances of %s run: %s and %s", c.Name, other.ID, c.ID)
		}
	}
	w.events = append(w.events, event)
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

// keepsUnstarted ends the instance that could not be started. Some runtimes tell of it.
func (w *world) keepsUnstarted(e Effect) {
	start, is := e.(StartContainer)
	if !is {
		return
	}
	if c := w.Container(start.ContainerID); c != nil && c.State == StateCreated {
		c.StartError = "no such file"
		if w.perform(e); c.Exit != nil {
			w.events = append(w.events, *c.Exit)
		}
	}
}

func (w *world) comesLate(e Effect) { w.late = append(w.late, lateCall{e, w.adoptions}) }

// performLate carries out a call whose caller has long gone.
func (w *world) performLate(i int) {
	l := w.late[i]
	w.late = slices.Delete(w.late, i, i+1)
	if _, claims := l.effect.(PrepareClaims); claims {
		return
	}
	id := ""
	switch made := w.perform(l.effect).(type) {
	case SandboxCreated:
		id = made.SandboxID
	case ContainerCreated:
		id = made.ContainerID
	}
	if id != "" {
		w.overdue[id] = l.adoptions
	}
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

// perform does what the effect asks for, as a runtime does it.
func (w *world) perform(e Effect) Fact {
	w.performClaims(e)
	switch e := e.(type) {
	case CreateSandbox:
		defer func() { w.IPs = usualIPs }()
	case AdmitResize, MeasureMemory, ResizeContainer:
		return w.performResize(e)
	case MeasureStorage:
		return StorageMeasured{Result: Result{ID: e.ID}, Volumes: []StorageUsage{{Name: "limited", Bytes: w.written}}}
	}
	return allWorks(&w.PretendedRuntime, e, w.now)
}

func (w *world) end(c *PretendedContainer, code int32, reason string) {
	w.End(c, ContainerExited{ExitCode: code, Reason: reason}, w.now)
}

func (w *world) snapshot() Observed { return w.Snapshot(Result{}, w.now) }

func (w *world) addresses(id string) []string {
	if s := w.Sandbox(id); s != nil {
		return s.IPs
	}
	return nil
}

func (w *world) running() []*PretendedContainer {
	var list []*PretendedContainer
	for _, c := range w.Containers {
		if c.State == StateRunning {
			list = append(list, c)
		}
	}
	return list
}
