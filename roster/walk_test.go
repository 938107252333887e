package roster

import (
	"flag"
	"maps"
	"reflect"
	"strconv"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/lifepod/lifepod/internal/prove/walks"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/roster/admit"
	"github.com/lifepod/lifepod/roster/pressure"
)

// TestRandomWalks leads random nodes through random times: pods come and go, workers end
// and panic, agents are killed and machines started anew. Each step is held against the
// laws of laws_test.go, and in the end everything must come to rest. A longer run: make
// soak.
func TestRandomWalks(t *testing.T) {
	seen := map[string]int{}
	rapid.Check(t, func(rt *rapid.T) {
		w := newWalk(rt, seen)
		w.begins()
		for range w.draw(200, "steps") {
			w.act()
		}
		w.comesToRest()
	})
	walks.Log(t, seen, sometimes)
	for _, what := range sometimes {
		if seen[what] == 0 && long() {
			t.Errorf("no walk ever came by %q: the walks do not prove what they should", what)
		}
	}
}

// sometimes are the rare branches that a long run must have come by (make soak; a short
// one may miss some): rules and effects that were reported, and what reach notices.
var sometimes = []string{
	"A-ADM-1", "A-ADM-4", "B-PRE-2", "B-WRK-13", "B-WRK-19", "B-WRK-21", "B-RST-1", "B-RST-2", "B-RST-4", "B-RST-7", "B-RST-9",
	"roster.Refuse", "roster.Discard", "roster.DeleteObject", "roster.Recall", "roster.ReadNode", "lifecycle.RoomFreed", "again", "A-DEV-5", "roster.Release",
	"overtaken", "panicked while it left", "killed before all were heard", "rebooted", "wanted again while it left", "gone when it was looked at",
	"looked at, nobody wanted it", "static pods of one name", "resize deferred", "resize granted", "unheard after a reboot", "at rest over",
	"evicted for memory.available", "evicted for nodefs.available", "evicted for pid.available", "evicted by a soft threshold", "evicted before others",
	"told of an older version", "told of a pod that has gone", "found again when it was over", "found when it had gone", "deleted while the API was cut off",
	"reclaiming was enough", "told to end by a shutdown", "refused by a shutdown", "released in time", "roster.TakeInhibitor",
}

// long says whether this is a run long enough to come by the rare branches.
func long() bool { return checks() >= 2000 }

// checks is how many times of nodes this run takes.
func checks() int {
	n, err := strconv.Atoi(flag.Lookup("rapid.checks").Value.String())
	if err != nil {
		return 0
	}
	return n
}

// walk is one random time of a node.
type walk struct {
	*world
	rt        *rapid.T
	m         *Machine
	laws      *laws
	wakeAt    time.Time
	faultless bool // nothing goes wrong any more
	steps     int
	seen      map[string]int
	crowded   bool    // a pod was preempted while one that no source wants had room
	script    *script // of converging walks: what else would be chance
}

func newWalk(rt *rapid.T, seen map[string]int) *walk {
	return &walk{rt: rt, seen: seen, world: &world{
		now: start, cpu: 4000, sources: []Source{API, File},
		wants: map[types.UID]*want{}, runtime: map[types.UID]*thing{}, memory: map[types.UID]*kept{}, mirrors: map[types.UID]v1.PodStatus{},
		endedBySource: map[types.UID]bool{}, hasDevices: map[types.UID]bool{}, left: map[pressure.Signal]int64{}, versions: map[types.UID][]*v1.Pod{},
	}}
}

// begins begins an agent.
func (w *walk) begins() {
	w.restart()
	w.m, w.wakeAt = New(Options{Sources: w.sources, API: true, Allocates: asksForDevices, Shutdown: walkPeriods, Pressure: walkPressure()}), time.Time{}
	w.laws = newLaws(w)
	w.feed(NodeKnown{Node: nodeOf("4", nil)})
	w.feed(w.opened())
}

// draw is one of n, each as likely as the other (rapid's ranges prefer small numbers).
func (w *walk) draw(n int, what string) int {
	drawn := 0
	for range 8 {
		drawn *= 2
		if rapid.Bool().Draw(w.rt, what) {
			drawn++
		}
	}
	return drawn * n / 256
}

// rarely is true once in so many times, and never when nothing goes wrong any more.
func (w *walk) rarely(once int, what string) bool {
	happens := !w.faultless && !w.script.leavesOut(what) && w.draw(once, what) == 0
	w.note(walks.Fault+what, happens)
	return happens
}

// feed gives the machine, and a clone of it, one fact.
func (w *walk) feed(f Fact) {
	w.now = w.now.Add(time.Millisecond)
	ev := Event{At: w.now, Fact: f}
	was := w.before(f)
	var clone *Machine
	if w.steps++; w.steps%*compareEvery == 0 {
		clone = w.m.Clone()
	}
	effects := w.m.Step(ev)
	w.rt.Logf("%s %T%s", worded(func() string { return clockText(ev.At) }), f, worded(func() string { return shortFact(f) }))
	for _, e := range effects {
		w.rt.Logf("    %s", worded(func() string { return effectText(e) }))
	}
	if clone != nil {
		w.sameAgain(clone, ev, effects)
	}
	w.reach(was, f, effects)
	w.counts()
	w.laws.fact(f)
	for _, e := range effects {
		w.laws.effect(e)
		w.take(e)
	}
	stepLaws(w.rt, w.m)
	if clone != nil {
		booksLaws(w.rt, w.m)
	}
	w.laws.after(f)
	if _, woke := f.(Woke); woke {
		wokenInTime(w.rt, w.m, w.now)
	}
}

// worded is what a log shows, worded only if it is shown.
type worded func() string

func (text worded) String() string { return text() }

// sameAgain checks that a clone answers a fact as the machine did.
func (w *walk) sameAgain(clone *Machine, ev Event, effects []Effect) {
	if answer := clone.Step(ev); !reflect.DeepEqual(effects, answer) || !reflect.DeepEqual(clone.pods, w.m.pods) || !reflect.DeepEqual(clone.short, w.m.short) {
		w.rt.Fatalf("a clone answers %T with\n%v\nthe machine with\n%v", ev.Fact, answer, effects)
	}
}

// take does what is asked for, or lets it be answered later.
func (w *walk) take(e Effect) {
	switch e := e.(type) {
	case WakeAt:
		w.wakeAt = e.At
	case Preempted:
		for _, p := range w.m.pods {
			w.crowded = w.crowded || !p.wanted && p.holds()
		}
	case Look:
		w.answers = append(w.answers, func() Fact { return w.looks(e.Pod.UID) })
	case ReadNode:
		w.answers = append(w.answers, func() Fact { return w.readsNode(e.UID) })
	case Allocate:
		w.answers = append(w.answers, func() Fact { return w.allocates(e.Pod) })
	case FlushStatuses:
		w.answers = append(w.answers, func() Fact { return StatusesFlushed{} })
	case Measure:
		w.answers = append(w.answers, func() Fact { return w.measures() })
	case Reclaim:
		w.answers = append(w.answers, w.reclaims)
	case MeasurePods:
		w.answers = append(w.answers, w.measuresPods)
	case Recall:
		w.answers = append(w.answers, func() Fact {
			if k := w.memory[e.UID]; k != nil && (w.keepsCheckpoint(e.UID) || !w.rarely(4, "checkpoint is gone after a panic")) {
				return Recalled{UID: e.UID, Remembered: &k.Remembered}
			}
			return Recalled{UID: e.UID}
		})
	case AllHeard: // what an agent that was killed had given, and could not begin
		maps.DeleteFunc(w.hasDevices, func(uid types.UID, _ bool) bool {
			return w.m.pods[uid] == nil
		})
		maps.DeleteFunc(w.mirrors, func(uid types.UID, _ v1.PodStatus) bool { return w.wants[uid] == nil })
	case Resume:
		w.resume(e, w.keepsCheckpoint(e.Pod.UID) || !w.rarely(6, "checkpoint can't be used"))
	default:
		w.carryOut(e)
	}
}

// readsNode is the Node as the API server has it, if that can be asked; nil: it is asked
// until it can.
func (w *walk) readsNode(uid types.UID) Fact {
	switch {
	case w.script != nil && w.cut:
		return nil
	case w.script != nil:
		return NodeRead{UID: uid, Node: nodeOf("4", w.script.labels)}
	case w.cut:
		return NodeRead{UID: uid}
	}
	return NodeRead{UID: uid, Node: []*v1.Node{nil, nodeOf("4", nil), nodeOf("4", map[string]string{"disk": ""})}[w.draw(3, "node")]}
}

// allocates gives a pod devices, unless there are none left.
func (w *walk) allocates(pod *v1.Pod) Fact {
	if w.script != nil && w.script.lacks[pod.UID] {
		return Allocated{UID: pod.UID, Refusal: &admit.Refusal{Reason: "UnexpectedAdmissionError"}}
	}
	if w.rarely(3, "devices are refused") {
		return Allocated{UID: pod.UID, Refusal: &admit.Refusal{Reason: "UnexpectedAdmissionError"}, Lacks: []v1.ResourceName{"", gpu}[w.draw(2, "lacks")]}
	}
	w.hasDevices[pod.UID] = true
	return Allocated{UID: pod.UID, Given: []v1.ResourceName{gpu}}
}

func (w *walk) looks(uid types.UID) Fact {
	f := Looked{UID: uid}
	if t := w.runtime[uid]; t != nil {
		f.Has = seenOf(t.attempt)
	}
	if status, shown := w.mirrors[uid]; shown {
		f.Mirror = &v1.Pod{Status: status}
	}
	return f
}

// act lets one random thing happen.
func (w *walk) act() {
	switch action := w.draw(46, "action"); {
	case action < 14 && len(w.mail) > 0:
		w.deliver()
	case action < 17 && len(w.answers) > 0:
		w.answer(w.draw(len(w.answers), "answer"))
	case action < 24 && len(w.workers) > 0:
		w.works(w.at(w.draw))
	case action < 27:
		w.tells(w.sources[w.draw(len(w.sources), "source tells")])
	case action < 32:
		w.comes()
	case action < 36:
		w.goes()
	case action < 38:
		w.timePasses([]time.Duration{time.Second, 10 * time.Second, time.Minute}[w.draw(3, "time")])
	case action == 38 && w.draw(3, "killed") == 0:
		w.killed()
	case action == 39 && w.draw(3, "shutdown") == 0:
		w.shutsDown()
	case action == 39:
		w.createsLate()
	case action >= 43:
		w.troublesAPI()
	case action >= 40:
		w.presses()
	case len(w.removes) > 0 && !w.cut:
		w.removesObject()
	}
}

func (w *walk) deliver() {
	f := w.mail[0]
	w.mail = w.mail[1:]
	w.feed(f)
}

func (w *walk) answer(i int) {
	ask := w.answers[i]
	w.answers = append(w.answers[:i:i], w.answers[i+1:]...)
	answer := ask()
	if answer == nil { // not yet
		w.answers = append(w.answers, ask)
		return
	}
	w.feed(answer)
	if read, is := answer.(NodeRead); is && w.rarely(3, "API answers twice") {
		w.feed(read)
	}
}

// works lets a worker do something, end by itself or panic.
func (w *walk) works(worker *worker) {
	switch {
	case w.rarely(10, "worker panics"):
		w.panics(worker)
	case w.rarely(8, "containers have ended") && w.runtime[worker.pod.UID] != nil && !lifecycle.Terminal(worker.status.Phase):
		w.publishes(worker, statusOf(v1.PodSucceeded, ""))
	case w.rarely(8, "worker ends") && lifecycle.Terminal(worker.status.Phase) && len(worker.inbox) == 0 && !worker.refused:
		w.ended(worker)
	default:
		w.worksOn(worker)
	}
}

// comes has a source want a pod, or change one.
func (w *walk) comes() {
	if w.draw(3, "static") == 0 {
		uid := []types.UID{"db-1", "web-1", "web-2", "web-3"}[w.draw(4, "static pod")]
		if w.wants[uid] == nil {
			w.wanted(File, w.randomPod(File, string(uid[:len(uid)-2]), uid))
		}
		return
	}
	if uids := w.ofSource(API); len(uids) > 0 && w.draw(2, "changes") == 0 {
		want := w.wants[uids[w.draw(len(uids), "changed")]]
		pod := want.pod.DeepCopy()
		pod.Generation++
		asks(pod).Requests = w.randomCPU()
		w.wanted(API, pod)
		return
	}
	w.made++
	uid := types.UID("api-" + strconv.Itoa(w.made))
	w.wanted(API, w.randomPod(API, string(uid), uid))
}

func (w *walk) randomCPU() v1.ResourceList {
	return cpus([]string{"500m", "1", "2", "3"}[w.draw(4, "cpu")])
}

func (w *walk) randomPod(source Source, name string, uid types.UID) *v1.Pod {
	pod := podOf(source, name, uid)
	pod.CreationTimestamp = metav1.Time{Time: w.now.Truncate(time.Second)}
	pod.Spec.TerminationGracePeriodSeconds = new([]int64{0, 5, 30}[w.draw(3, "grace")])
	if source == API && w.draw(3, "as a whole") == 2 {
		pod.Spec.Containers[0].Resources.Requests = cpus("100m")
		pod.Spec.Resources = &v1.ResourceRequirements{}
	}
	asks(pod).Requests = w.randomCPU()
	w.randomPriority(pod)
	// What can't change in a pod is always the same of a static pod, whose UID may come again.
	if uid == "web-3" || source == API && w.draw(5, "asks for devices") == 0 {
		pod.Spec.Containers[0].Resources.Limits = v1.ResourceList{gpu: resource.MustParse("1")}
	}
	if uid == "web-2" || source == API && w.draw(8, "needs a label") == 0 {
		pod.Spec.NodeSelector = map[string]string{"disk": ""}
	}
	return pod
}

// goes has a source take a pod back, or delete it.
func (w *walk) goes() {
	source := w.sources[w.draw(len(w.sources), "source")]
	uids := w.ofSource(source)
	if len(uids) == 0 {
		return
	}
	uid := uids[w.draw(len(uids), "goes")]
	want := w.wants[uid]
	switch {
	case source == API && w.draw(3, "by force") > 0:
		w.deletes(uid, int64(w.draw(30, "seconds")))
	default:
		w.unwanted(uid)
		if source != API && w.draw(2, "comes back") == 0 || w.draw(10, "comes back") == 0 {
			w.wanted(source, want.pod)
		}
	}
}

// timePasses moves the clock, never past the moment at which the machine is to be woken.
func (w *walk) timePasses(by time.Duration) {
	to := w.now.Add(by)
	if w.wakeAt.IsZero() || to.Before(w.wakeAt) {
		w.now = to
		return
	}
	if w.wakeAt.After(w.now) {
		w.now = w.wakeAt.Add(-time.Millisecond)
	}
	w.wakeAt = time.Time{}
	w.feed(Woke{})
}

// removesObject has the API server remove an object as it was told.
func (w *walk) removesObject() {
	uid := w.removes[0]
	w.removes = w.removes[1:]
	w.unwanted(uid)
}
