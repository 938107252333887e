package roster

import (
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/roster/pressure"
)

// world is a pretended node: sources, the API server, the runtime, what agents remember.
// One agent follows the other on it.
type world struct {
	now     time.Time
	cpu     int64 // thousandths
	sources []Source

	// what outlives an agent
	wants          map[types.UID]*want
	runtime        map[types.UID]*thing
	memory         map[types.UID]*kept
	mirrors        map[types.UID]v1.PodStatus // of static pods, as the API server has them
	rebooted       bool                       // since all sources were heard last
	made           int                        // for unique UIDs
	left           map[pressure.Signal]int64  // of what is short, or was
	enoughAfterOne bool                       // what is short is enough again as soon as one pod was evicted for it
	endedBySource  map[types.UID]bool         // pods that have ended because their source had them no longer
	hasDevices     map[types.UID]bool         // pods that have devices
	cut            bool                       // the API server is cut off
	versions       map[types.UID][]*v1.Pod    // each that it has had, in order
	finishes       map[types.UID]bool         // pods whose processes end by themselves with success, as soon as they run

	// what doesn't
	workers   map[types.UID]*worker
	mail      []Fact        // to the machine, in order
	answers   []func() Fact // under way, in any order
	announced map[types.UID]bool
	held      []Fact // what the API server tells while it is cut off
	heard     map[Source]bool
	removes   []types.UID // objects that the API server was told to delete
}

// want is a pod that a source has.
type want struct {
	source Source
	pod    *v1.Pod
}

// thing is what the runtime has of a pod.
type thing struct {
	pod     *v1.Pod
	source  Source
	attempt uint32
	late    bool // made by a call of an agent before, of which this one has not heard
}

// kept is what is remembered of a pod.
type kept struct {
	Remembered
	newest *v1.Pod // with the spec as its worker was told last
	status v1.PodStatus
}

// worker takes a pod through its life.
type worker struct {
	source   Source
	pod      *v1.Pod // as accepted
	newest   *v1.Pod
	inbox    []lifecycle.Fact
	refused  bool
	evicted  bool
	because  string // it was refused or evicted
	rests    bool   // its end was reported
	ends     bool   // its end was asked for, which is kept
	status   v1.PodStatus
	asked    *v1.Pod // a resize whose answer is awaited
	question int     // its number
	judged   bool    // the node has answered to the newest resize, which the status tells
	defers   bool    // its resize waits for room
	reported bool    // its object was reported to stand for nothing
}

func (w *world) post(f Fact) { w.mail = append(w.mail, f) }

// says has a source tell something: the API server, once it is no longer cut off.
func (w *world) says(source Source, f Fact) {
	if source == API && w.cut {
		w.held = append(w.held, f)
		return
	}
	w.post(f)
}

// heals ends a cut: what the API server had to tell arrives in order.
func (w *world) heals() {
	w.mail = append(w.mail, w.held...)
	w.cut, w.held = false, nil
}

// restart begins another agent; what the one before had not done is lost.
func (w *world) restart() {
	w.workers, w.mail, w.held, w.answers, w.removes = map[types.UID]*worker{}, nil, nil, nil, nil
	w.announced, w.heard = map[types.UID]bool{}, map[Source]bool{}
}

// opened is what the next agent finds.
func (w *world) opened() Opened {
	o := Opened{Rebooted: w.rebooted}
	for _, uid := range slices.Sorted(maps.Keys(w.memory)) {
		o.Remembered = append(o.Remembered, w.memory[uid].Remembered)
	}
	for _, uid := range slices.Sorted(maps.Keys(w.runtime)) {
		t := w.runtime[uid]
		o.Found = append(o.Found, Found{UID: uid, Namespace: t.pod.Namespace, Name: t.pod.Name, Seen: seenOf(t.attempt)})
	}
	return o
}

// wanted has a source say that it has a pod, or a newer version of it.
func (w *world) wanted(source Source, pod *v1.Pod) {
	w.wants[pod.UID] = &want{source, pod}
	w.announced[pod.UID] = true
	if source == API {
		w.versions[pod.UID] = append(w.versions[pod.UID], pod)
	}
	w.says(source, Wanted{Source: source, Pod: pod})
}

func (w *world) unwanted(uid types.UID) {
	if w.wants[uid] == nil {
		return
	}
	announced, source := w.announced[uid], w.wants[uid].source
	delete(w.wants, uid)
	delete(w.announced, uid)
	if announced {
		w.says(source, Unwanted{UID: uid})
	}
}

// tells has a source go on telling what it has at the start. It says false if that was
// told before.
func (w *world) tells(source Source) bool {
	if w.heard[source] {
		return false
	}
	for _, uid := range slices.Sorted(maps.Keys(w.wants)) {
		if want := w.wants[uid]; want.source == source && !w.announced[uid] {
			w.wanted(source, want.pod)
			return true
		}
	}
	w.heard[source] = true
	w.says(source, SourceHeard{Source: source})
	return true
}

// deletes has the API server mark a pod as being deleted.
func (w *world) deletes(uid types.UID, seconds int64) {
	want := w.wants[uid]
	if want == nil || want.source != API {
		return
	}
	pod := want.pod.DeepCopy()
	pod.Generation++
	pod.DeletionTimestamp = &metav1.Time{Time: w.now.Add(time.Duration(seconds) * time.Second)}
	pod.DeletionGracePeriodSeconds = &seconds
	w.wanted(API, pod)
}

// carryOut does what the machine asks for, but for Resume.
func (w *world) carryOut(e Effect) {
	switch e := e.(type) {
	case Begin:
		delete(w.endedBySource, e.Pod.UID)
		w.workers[e.Pod.UID] = &worker{source: e.Source, pod: e.Pod, newest: e.Pod}
	case Refuse:
		delete(w.endedBySource, e.Pod.UID)
		w.workers[e.Pod.UID] = &worker{source: e.Source, pod: e.Pod, newest: e.Pod, refused: true, because: e.Why.Reason}
	case Adopt:
		delete(w.endedBySource, e.Pod.UID)
		w.workers[e.Pod.UID] = &worker{source: e.Source, pod: e.Pod, newest: e.Pod, status: e.Pod.Status}
	case Tell:
		if to := w.workers[e.UID]; to != nil {
			to.inbox = append(to.inbox, e.Fact)
		}
	case Drop: // its mirror pod stays until then (B-STA-5)
		if w.wants[e.UID] == nil {
			delete(w.mirrors, e.UID)
		}
	case Release:
		delete(w.hasDevices, e.UID)
	case Forget:
		delete(w.memory, e.UID)
	case DeleteObject:
		w.removes = append(w.removes, e.Pod.UID)
	case RecordBoot:
		w.rebooted = false
	case AnswerResize:
		w.answerResize(e)
	}
}

// resume goes on with a pod, if its checkpoint can be read.
func (w *world) resume(e Resume, resumable bool) {
	uid := e.Pod.UID
	k := w.memory[uid]
	if !resumable || k == nil {
		delete(w.memory, uid)
		w.post(NotResumed{UID: uid, Err: errUnreadable})
		return
	}
	w.workers[uid] = &worker{source: e.Source, pod: e.Pod, newest: k.newest, ends: e.Checkpoint.Deleted, status: k.status, judged: lifecycle.Condition(k.status.Conditions, v1.PodResizePending) != nil}
	w.post(Resumed{UID: uid, Status: k.status})
}

// answerResize gives the answer to the worker whose question has that number.
func (w *world) answerResize(e AnswerResize) {
	for _, worker := range w.workers {
		if worker.asked == nil || worker.question != e.ID {
			continue
		}
		asked, status := worker.asked, worker.status
		worker.asked, worker.judged, worker.defers = nil, true, e.Refusal != nil
		switch {
		case lifecycle.Terminal(status.Phase):
		case e.Refusal == nil:
			w.publishes(worker, statusOfPod(asked, cpuOf(asked).String()))
		default:
			status.Conditions = []v1.PodCondition{{Type: v1.PodResizePending, Status: v1.ConditionTrue, Reason: e.Refusal.Reason}}
			w.publishes(worker, status)
		}
	}
}

// publishes has a worker tell its status, which the API server has then, too.
func (w *world) publishes(worker *worker, status v1.PodStatus) {
	uid := worker.pod.UID
	status.ObservedGeneration = worker.newest.Generation
	if worker.status.ObservedGeneration > 0 && !worker.judged && w.wantsResize(worker) {
		status.ObservedGeneration = worker.status.ObservedGeneration // as lifecycle does until the node has judged a resize
	}
	worker.status = status
	w.post(Published{UID: uid, Status: status})
	if k := w.memory[uid]; k != nil {
		k.status, k.Checkpoint.Reported = status, status
	}
	want := w.wants[uid]
	switch {
	case want == nil:
	case want.source == API:
		pod := *want.pod
		pod.Status = status
		want.pod = &pod
	default:
		w.mirrors[uid] = status
	}
}

// keeps has a worker write its checkpoint.
func (w *world) keeps(worker *worker) {
	uid, attempt := worker.pod.UID, uint32(0)
	if t := w.runtime[uid]; t != nil {
		attempt = t.attempt
	}
	k := &kept{
		Remembered: Remembered{Source: worker.source, Pod: worker.pod, Checkpoint: checkpointOf(worker.pod, attempt, worker.ends)},
		newest:     worker.newest, status: worker.status,
	}
	k.Checkpoint.Reported = worker.status
	w.memory[uid] = k
}

// ended has a worker return: nothing is left of its pod.
func (w *world) ended(worker *worker) {
	uid := worker.pod.UID
	delete(w.workers, uid)
	delete(w.memory, uid)
	delete(w.runtime, uid)
	w.endedBySource[uid] = worker.ends
	w.post(Ended{UID: uid})
}

// panics has a worker panic: what it has not taken in is lost.
func (w *world) panics(worker *worker) {
	delete(w.workers, worker.pod.UID)
	w.endedBySource[worker.pod.UID] = worker.ends
	w.post(Panicked{UID: worker.pod.UID, Err: errPanic})
}

// at is the worker of that number in the order of UIDs, nil without any.
func (w *world) at(draw func(n int, what string) int) *worker {
	if len(w.workers) == 0 {
		return nil
	}
	uids := slices.Sorted(maps.Keys(w.workers))
	return w.workers[uids[draw(len(uids), "worker")]]
}

// ofSource are the UIDs of what a source has.
func (w *world) ofSource(source Source) []types.UID {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(w.wants)), func(uid types.UID) bool { return w.wants[uid].source != source })
}
