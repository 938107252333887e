package lifecycle

import (
	"reflect"
	"strings"
	"time"

	"github.com/lifepod/lifepod/internal/prove/walks"
)

// runs is the newest instance of a regular container, for the back-off.
type runs struct {
	id        string
	createdAt time.Time
	endedAt   time.Time
	delay     time.Duration // the back-off after its end
	free      bool          // the next start is not a crash's: asked for, or of all containers
}

// due is when the container may be created again (A-BO-3, A-BO-4).
func (r *runs) due() time.Time { return r.endedAt.Add(r.effective()) }

func (r *runs) effective() time.Duration {
	if r.endedAt.Sub(r.createdAt) > 600*time.Second {
		return 0
	}
	return r.delay
}

// remember keeps what later steps are judged by: when each instance was created and
// ended.
func (l *invariants) remember(w *walk) {
	for _, c := range w.m.regulars() {
		r := l.runs[c.spec.Name]
		switch {
		case r != nil && r.id == c.ID && c.Exit != nil:
			r.endedAt, r.free = c.EndedAt, c.Requested
		case r != nil && c.ID == "": // all were restarted, and perhaps it is being created again
			r.free = true
		case r != nil && r.free && r.id != c.ID: // counts for nothing
			*r = runs{id: c.ID, createdAt: r.createdAt, delay: r.delay}
		case c.ID == "" || (r != nil && r.id == c.ID):
		case r == nil || r.endedAt.IsZero(): // there was none that ended
			l.runs[c.spec.Name] = &runs{id: c.ID, createdAt: w.now}
		default:
			delay := min(300*time.Second, max(10*time.Second, 2*r.effective()))
			l.runs[c.spec.Name] = &runs{id: c.ID, createdAt: w.now, delay: delay}
		}
	}
}

// reach notes the rare branches that a step went through.
func (w *walk) reach(was *Machine, f Fact) {
	for i, c := range w.m.containers[:len(was.containers)] {
		old := was.containers[i]
		_, observed := f.(Observed)
		exit, exited := f.(ContainerExited)
		w.note("adopted container", observed && old.Position == uncertain && c.ID != old.ID && c.ID != "")
		w.note("lost container", c.Exit != nil && old.Exit == nil && c.Exit.Reason == "ContainerStatusUnknown")
		w.note("exit before the start's answer", exited && old.Position == starting && exit.ContainerID == old.ID)
		w.note("unknown state", old.Position == running && old.stopping.op == 0 && c.stopping.op != 0 && observed && was.kept.Stage == Syncing)
		w.note("stop without an exit", c.stopping.waitsForSnapshot())
		w.note("second StopContainer", old.stopping.op != 0 && c.stopping.op > old.stopping.op)
		w.note("deadline passed", w.m.kept.Stage == Terminating && c.mayRun() && w.now.After(w.m.stop.Deadline))
	}
	w.reachProbes(was, f)
	w.note("adopted sandbox", was.sandbox.State == sandboxUncertain && w.m.sandbox.State == sandboxReady)
	_, found := f.(VolumesFound)
	w.note("sandbox beside a claim's volume", found && was.sandbox.State == sandboxNone && w.m.sandbox.State == sandboxCreating)
	w.note("sandbox without an address", was.sandbox.State == sandboxReady && w.m.sandbox.State == sandboxLost && len(w.addresses(w.m.sandbox.ID)) == 0)
	w.note("adopted broken sandbox", was.sandbox.State == sandboxUncertain && w.m.sandbox.ID != was.sandbox.ID && w.m.sandbox.State != sandboxReady)
}

// counts notes what the machine has come to: its stage, and the states of its sandbox and
// of its containers.
func (w *walk) counts() {
	w.seen[walks.Steps]++
	w.seen[countedStages[w.m.kept.Stage]]++
	w.seen[countedSandboxes[w.m.sandbox.State]]++
	for _, c := range w.m.containers {
		w.seen[countedContainers[c.kind][c.Position]]++
	}
}

// What a state is counted as, worded once.
var (
	countedStages     = countedAs("", Gone)
	countedSandboxes  = countedAs("sandbox ", sandboxUncertain)
	countedContainers = [...][]string{
		countedAs("init ", uncertain), countedAs("sidecar ", uncertain), countedAs("regular ", uncertain), countedAs("ephemeral ", uncertain),
	}
)

func countedAs[T interface {
	~int
	String() string
}](of string, last T) (texts []string) {
	for state := T(0); state <= last; state++ {
		texts = append(texts, walks.State+of+state.String())
	}
	return texts
}

func (w *walk) note(what string, reached bool) {
	if reached {
		w.seen[what]++
	}
}

// sameAgain checks that a clone answers a fact as the machine did. It has nothing that
// earlier steps have derived, so that this decides nothing.
func (w *walk) sameAgain(clone *Machine, ev Event, effects []Effect) {
	clone.derived = derived{}
	if again := clone.Step(ev); !reflect.DeepEqual(effects, again) {
		w.rt.Fatalf("a clone answers %T with\n%v\nthe machine with\n%v", ev.Fact, again, effects)
	}
	clone.derived = w.m.derived
	if !reflect.DeepEqual(clone, w.m) {
		w.rt.Fatalf("a clone differs from its machine after %T", ev.Fact)
	}
}

// effectNames are effects as a log shows them, worded only if it is shown.
type effectNames []Effect

// String lists the effects.
func (effects effectNames) String() string {
	var names []string
	for _, e := range effects {
		names = append(names, effectText(e))
	}
	return strings.Join(names, "; ")
}
