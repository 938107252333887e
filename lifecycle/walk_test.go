package lifecycle

import (
	"flag"
	"io"
	"reflect"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/lifepod/lifepod/internal/prove/walks"
)

// TestRandomWalks takes random pods through random lives against a runtime in which
// everything goes wrong, and checks the invariants of invariants_test.go after each step.
// A longer run: make soak, half of it on each of two processors.
func TestRandomWalks(t *testing.T) {
	t.Parallel()
	if !long() {
		randomWalks(t)
		return
	}
	for _, half := range []string{"one half", "the other half"} {
		t.Run(half, func(t *testing.T) {
			t.Parallel()
			randomWalks(t)
		})
	}
}

func randomWalks(t *testing.T) {
	seen := map[string]int{}
	rapid.Check(t, func(rt *rapid.T) {
		w := newWalk(rt, randomPod(rt), seen)
		w.faultRate = []int{0, 1, 4}[w.draw(3, "trouble")]
		w.unhealthy = []int{0, 4, 8}[w.draw(3, "unhealthy")]
		w.feed(Accepted{})
		for range w.draw(150, "steps") {
			w.act()
		}
		w.comesToRest()
		w.stops()
	})
	walks.Log(t, seen, sometimes)
	for _, what := range sometimes {
		if seen[what] == 0 && long() {
			t.Errorf("no walk ever came by %q: the walks do not prove what they should", what)
		}
	}
}

// sometimes are the rare branches that a long run must have reached (make soak; a short run
// may miss some, and make prove-lives sums up its runs): Kubernetes
// Events, rules that were reported, and what reach notices.
var sometimes = []string{
	"BackOff", "Killing", "FailedKillPod", "SandboxChanged", "FailedCreatePodSandBox", "FailedMount",
	"FailedCreatePodContainer", "Pulling", "DeadlineExceeded",
	"A-INIT-2", "A-INIT-3", "A-IMG-5", "A-SBX-1", "A-ACT-13", "B-WRK-9", "B-FIN-6", "B-CTL-9",
	"adopted container", "adopted sandbox", "lost container", "unknown state", "exit before the start's answer",
	"B-RAC-1", "B-RAC-4", "B-RAC-6", "A-HOOK-1", "B-HOOK-2", "B-HOOK-4", "FailedPostStartHook", "FailedPreStopHook",
	"deadline passed", "second StopContainer", "stop without an exit", "Succeeded", "Failed",
	"A-ACT-5", "A-CRI-5", "ResizeStarted", "ResizeCompleted", "ResizeDeferred", "ResizeError", "A-ACT-12",
	"resumed", "resumed in a termination", "resumed with a call under way", "late create between two kills", "rebooted", "exited while lifepod was dead",
	"A-VOL-5", "B-LST-1", "A-IMG-10",
	"A-ACT-8", "overtaken object", "deleted in the API", "deletion moved nearer", "evicted", "resting", "adopted",
	"Unhealthy", "A-CST-12", "A-CST-13", "A-COND-6", "attempt given up", "gated by a sidecar",
	"B-GRP-2", "B-GRP-4", "B-GRP-5", "B-GRP-6", "B-GRP-9", "B-GRP-10", "B-GRP-16",
	"sandbox without an address", "sandbox beside a claim's volume", "FailedPrepareDynamicResources", "A-DRA-9",
}

// long says whether this run is long enough to reach the rare branches.
func long() bool { return checks() >= 5000 }

// checks is how many lives this run takes.
func checks() int {
	n, err := strconv.Atoi(flag.Lookup("rapid.checks").Value.String())
	if err != nil {
		return 0
	}
	return n
}

// walk is one random life.
type walk struct {
	*world
	rt         *rapid.T
	m          *Machine
	saved      *Machine // what the next lifepod knows if this one is killed
	cloned     *Machine // a copy of clonedOf since its last step; nil: none
	clonedOf   *Machine
	unused     *Machine // whose memory the next copy takes
	pod        *v1.Pod
	faultRate  int // how often things go wrong: of 10
	unhealthy  int // how often probes do
	outcomes   int // how many outcomes a call has that goes wrong
	wakeAt     time.Time
	relistAt   time.Time
	snapshots  []Observed // periodic ones, taken and not yet fed
	laws       *invariants
	steps      int
	asked      map[string]bool // containers whose restart was asked for
	object     object
	transcript transcript // of the life, if it is shown
	log        io.Writer  // nil: that of the test
	seen       map[string]int
}

func newWalk(rt *rapid.T, pod *v1.Pod, seen map[string]int) *walk {
	return newWalkOf(rt, pod, optionsOf(rapid.Bool().Draw(rt, "keeps records")), seen)
}

func newWalkOf(rt *rapid.T, pod *v1.Pod, options Options, seen map[string]int) *walk {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(-time.Millisecond) // the first fact comes when it does in transcripts
	seen[walks.Lives]++
	m := New(pod, options)
	return &walk{
		world: newWorld(rt, start), rt: rt, m: m, pod: pod, outcomes: int(cannotStart) + 1, unused: &Machine{}, seen: seen, asked: map[string]bool{}, laws: newInvariants(rt, m),
	}
}

// coin is made once: a life tosses it thousands of times.
var coin = rapid.Bool()

// draw is one of n, each as likely as the other (rapid's ranges prefer small numbers).
func (w *walk) draw(n int, what string) int {
	drawn := 0
	for range 8 {
		drawn *= 2
		if coin.Draw(w.rt, what) {
			drawn++
		}
	}
	return drawn * n / 256
}

// feed gives the machine, and a clone of it, one fact.
func (w *walk) feed(f Fact) {
	w.now = w.now.Add(time.Millisecond)
	ev := Event{At: w.now, Fact: f}
	was := w.clone()
	w.laws.probes.before(w, f)
	w.steps++
	shared := w.sharedPod()
	effects := w.step(ev)
	if w.comparesNow() {
		w.sameAgain(was.Clone(), ev, effects)
	}
	shared(f)
	w.cloned = nil
	if w.m.ToSave() {
		before := w.saved
		if w.saved = w.clone(); before != was {
			w.outlived(before)
		}
	}
	w.reach(was, f)
	w.counts()
	for _, e := range effects {
		w.take(e)
	}
	w.laws.after(w, f, effects)
	w.laws.restartAllKeeps(w, was, effects)
	w.laws.inGroup(w, was, effects)
	w.outlived(was)
}

// clone is a copy of the machine as it is, made once between two steps.
func (w *walk) clone() *Machine {
	if w.cloned != nil && w.clonedOf == w.m {
		return w.cloned
	}
	w.cloned, w.clonedOf = w.m.CloneInto(w.unused), w.m
	w.unused = &Machine{}
	return w.cloned
}

// outlived says that a clone is not needed any more: its memory is for the next one.
func (w *walk) outlived(clone *Machine) {
	if clone != nil && clone != w.saved && clone != w.cloned {
		w.unused = clone
	}
}

// sharedPod is called before a step. What it returns finds out, after the step, whether the pod was changed that others have, too.
func (w *walk) sharedPod() (compare func(Fact)) {
	if !w.comparesNow() {
		return func(Fact) {}
	}
	pod := w.m.Pod()
	was := pod.DeepCopy()
	return func(f Fact) {
		if !reflect.DeepEqual(was, pod) {
			w.rt.Fatalf("%T changes the pod that others have, too (-before +after):\n%s", f, cmp.Diff(was, pod))
		}
	}
}

// comparesNow says whether everything is compared with a clone after this step.
func (w *walk) comparesNow() bool { return w.steps%*compareEvery == 0 }

func (w *walk) take(e Effect) {
	switch e := e.(type) {
	case WakeAt:
		w.wakeAt = e.At
	case Cancel:
		w.cancel(e.ID)
	case Tell:
		w.seen[e.Report.Rule]++
	case RecordEvent:
		w.seen[e.Reason]++
	case CountEviction:
		w.seen[e.Signal]++
	case Publish:
		w.seen[string(e.Status.Phase)]++
		if e.ID != 0 {
			w.laws.confirmed = false
			w.calls = append(w.calls, &call{effect: e})
		}
	case DeleteObject, Finish:
	default:
		w.calls = append(w.calls, &call{effect: e})
	}
}

// cancel gives up a call, which may have been carried out nevertheless.
func (w *walk) cancel(id EffectID) {
	i := slices.IndexFunc(w.calls, func(c *call) bool { return c.effect.EffectID() == id })
	if i < 0 {
		w.rt.Fatalf("Cancel of effect %d, which is not under way", id)
	}
	c := w.calls[i]
	if c.answer != nil {
		return
	}
	if w.draw(2, "carried out all the same") == 1 {
		w.perform(c.effect)
	}
	c.answer = AnswerTo(c.effect, &Failure{Class: Cancelled, Message: "context canceled"})
}

// act lets one random thing happen.
func (w *walk) act() {
	switch action := w.draw(41, "action"); {
	case action < 6 && w.answersProbe():
	case action < 16:
		w.goOn()
	case action < 21 && len(w.calls) > 0:
		w.unanswered(w.calls[w.draw(len(w.calls), "call")])
	case action < 26 && len(w.events) > 0:
		w.deliver(w.draw(len(w.events), "event"), w.draw(10, "doubled") == 0)
	case action < 27 && len(w.events) > 0 && w.faultRate > 0:
		i := w.draw(len(w.events), "lost event")
		w.events = slices.Delete(w.events, i, i+1)
		w.note(walks.Fault+"event lost", true)
	case action < 31 && len(w.running()) > 0:
		w.exits(w.running()[w.draw(len(w.running()), "exits")])
	case action < 32 && len(w.Sandboxes) > 0 && w.faultRate > 0:
		w.sandboxBreaks(w.Sandboxes[w.draw(len(w.Sandboxes), "sandbox breaks")])
	case action < 33:
		w.snapshots = append(w.snapshots, w.snapshot())
	case action < 34 && len(w.snapshots) > 0:
		w.feed(w.snapshots[0])
		w.snapshots = w.snapshots[1:]
	case action < 37:
		w.timePasses()
	case action < 38 && len(w.late) > 0:
		w.performLate(w.draw(len(w.late), "late"))
	case action < 39 && len(w.running()) > 0 && w.faultRate > 0:
		w.loses(w.running()[w.draw(len(w.running()), "loses")])
	case action == 40 && w.m.Stage() != Gone:
		w.crash()
		if w.lateCreates() && w.m.Stage() != Gone {
			w.killedAgain()
		}
	case w.m.asks.leader != "" && w.draw(2, "group") == 0:
		w.hearsOfGroup()
	case w.draw(4, "restart") == 0:
		w.asksForRestart()
	case w.draw(6, "stop") == 0:
		[]func(){w.askForTheEnd, w.deletesObject, w.evicts}[w.draw(3, "how")]()
	default:
		[]func(){w.setsCondition, w.changesSpec, w.changesObject}[w.draw(3, "condition, spec or object")]()
	}
}

// sandboxBreaks ends a sandbox, or takes its address, or that of the next one.
func (w *walk) sandboxBreaks(s *ObservedSandbox) {
	w.note(walks.Fault+"sandbox breaks", true)
	switch w.draw(4, "how it breaks") {
	case 0:
		s.IPs = nil
	case 1:
		w.IPs = nil
	default:
		w.EndSandbox(s, w.now)
	}
}

// unanswered lets a call be carried out, and what it starts end, before it is answered.
func (w *walk) unanswered(c *call) {
	if c.answer != nil {
		return
	}
	w.execute(c, w.outcome(c.effect))
	e, start := c.effect.(StartContainer)
	if !start || w.draw(2, "ends at once") == 0 {
		return
	}
	if o := w.Container(e.ContainerID); o != nil && o.State == StateRunning {
		w.exits(o)
		w.deliver(len(w.events)-1, false)
	}
}

// goOn answers the oldest call.
func (w *walk) goOn() {
	if len(w.calls) == 0 {
		return
	}
	i := w.draw(min(3, len(w.calls)), "answered")
	c := w.calls[i]
	if w.findsVolumes(c) {
		return
	}
	if p, ok := c.effect.(Probe); ok && c.answer == nil {
		c.answer = w.answerOf(p)
	}
	if c.answer == nil {
		w.execute(c, w.outcome(c.effect))
	}
	w.calls = slices.Delete(w.calls, i, i+1)
	if p, ok := c.answer.(Published); ok && p.Failure == nil {
		w.laws.confirmed = true
	}
	w.feed(c.answer)
}

// findsVolumes has what the pod's claims are bound to be found before it is mounted, for some calls.
func (w *walk) findsVolumes(c *call) bool {
	e, mounts := c.effect.(MountVolumes)
	if !mounts || c.answer != nil || w.found == e.ID || !SandboxNeedsVolumeGroups(w.m.pod) || w.draw(4, "are found") == 0 {
		return false
	}
	w.found = e.ID
	w.feed(VolumesFound(e))
	return true
}

// outcome is that of a call. Few lives come to a hook: more of those go wrong.
func (w *walk) outcome(e Effect) outcome {
	rate := w.faultRate
	if _, hook := e.(RunHook); hook && rate > 0 {
		rate = 5
	}
	if w.draw(10, "goes wrong") >= rate {
		return works
	}
	o := outcome(w.draw(w.outcomes, "outcome"))
	w.note(walks.Fault+"call "+o.String(), o != works)
	return o
}

func (w *walk) deliver(i int, again bool) {
	f := w.events[i]
	w.note(walks.Fault+"event out of order", i > 0)
	w.note(walks.Fault+"event doubled", again)
	if !again {
		w.events = slices.Delete(w.events, i, i+1)
	}
	w.feed(f)
}

func (w *walk) exits(c *PretendedContainer) {
	code := []int32{0, 0, 1, 42, 137}[w.draw(5, "code")]
	reason := []string{"Error", "Error", "OOMKilled"}[w.draw(3, "reason")]
	if code == 0 && reason == "Error" {
		reason = "Completed"
	}
	w.end(c, code, reason)
}

// loses lets a container vanish, its record and its exit with it, or the
// runtime forget whether it runs.
func (w *walk) loses(c *PretendedContainer) {
	w.note(walks.Fault+"container lost or unknown", true)
	if w.draw(2, "unknown") == 1 {
		c.State = StateUnknown
		return
	}
	w.Forget(c)
}

// askForTheEnd asks for it once or, in a hurry, twice.
func (w *walk) askForTheEnd() {
	for range 1 + w.draw(2, "again") {
		grace := int64(w.draw(40, "grace"))
		w.feed(StopRequested{GraceSeconds: &grace, Force: w.draw(4, "force") == 0})
		w.goOn()
	}
}

// timePasses moves the clock, never past the time at which the machine must wake.
func (w *walk) timePasses() {
	by := []time.Duration{time.Millisecond, time.Second, 10 * time.Second, time.Minute, 11 * time.Minute}[w.draw(5, "time")]
	to := w.now.Add(by)
	if w.wakeAt.IsZero() || to.Before(w.wakeAt) {
		w.now = to
		return
	}
	w.now, w.wakeAt = later(w.now, w.wakeAt.Add(-time.Millisecond)), time.Time{}
	w.feed(Woke{})
}
