package lifecycle

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Stage is the coarse position of a pod. It only advances, and it alone decides whether
// the pod may still start a container (B-WRK-4, B-WRK-5).
type Stage int

const (
	// Syncing: containers are started, restarted and kept.
	Syncing Stage = iota
	// Terminating: nothing is started any more; containers, then the sandbox, are stopped.
	Terminating
	// Terminated: nothing runs; volumes, cgroup and the runtime's records are given back.
	Terminated
	// Gone: nothing of the pod is left.
	Gone
)

func (s Stage) String() string {
	return [...]string{"syncing", "terminating", "terminated", "gone"}[s]
}

// Options are the node's settings that decisions depend on. They are passed in, never
// looked up, so that the same events always give the same life.
type Options struct {
	RuntimeName      string   // prefix of containerID in the status, "containerd" (A-CST-4)
	HostIPs          []string // the node's addresses, primary family first (A-CST-17)
	CrashBackOff     BackoffPolicy
	ImageBackOff     BackoffPolicy
	RetryAfter       time.Duration // between attempts of a failed step (A-SYNC-9, without the jitter of A-SYNC-10)
	UnavailableRetry time.Duration // between attempts while the runtime is down

	// KeepRecords keeps the container records and logs of a pod that has ended by itself
	// until somebody asks for its end (B-FIN-11, B-DEL-13).
	KeepRecords bool

	RecursiveReadOnly bool // the pod's runtime handler can make mounts recursively read-only (A-CST-16)
}

// DefaultOptions are those of Kubernetes 1.37 (A-BO-3, A-IMG-5, A-SYNC-9).
func DefaultOptions() Options {
	return Options{
		RuntimeName:      "containerd",
		CrashBackOff:     DefaultBackoff(),
		ImageBackOff:     DefaultBackoff(),
		RetryAfter:       10 * time.Second,
		UnavailableRetry: 500 * time.Millisecond,
	}
}

// Machine is one pod's life. It belongs to one caller at a time. It shares its pod, which nobody
// changes: the machine replaces it.
type Machine struct {
	given
	state
	bookkeeping
	derived derived
}

// given is what a machine is made from. Only the pod changes, by updates, resizes and
// ephemeral containers.
type given struct {
	pod            *v1.Pod
	generation     int64 // of the pod as it was accepted
	options        Options
	tuning         podTuning
	restartAllRule bool // some container has a rule that restarts all (B-RAC-3)
	asks           groupAsked
}

// specIsAnother is the generation of a machine whose spec differs from the accepted pod's
// from the start: its checkpoints have the spec.
const specIsAnother = -1

// state is where the pod is in its life. The exported fields of each part outlive lifepod
// (Checkpoint); everything else is found or done again.
type state struct {
	kept       kept
	sandbox    sandbox
	containers []*container // init containers in spec order, the regular ones, then the ephemeral ones
	stop       stop
	restartAll restartAll
	group      membership
	resize     resize

	setup        setup          // idempotent, and the shell must know the volumes: done again
	claims       claims         // idempotent: done again, unless there is a sandbox or the end is shown
	release      release        // idempotent: done again
	imageVolumes []*imageVolume // their images are looked for again; their back-off is kept by image name
	storage      storage        // measured again at once
	devices      deviceStatuses // reported again; until then those of the reported status count
	refresh      refresh        // volumes are written again, from the objects as they are then
}

// kept is how far the pod as a whole has come.
type kept struct {
	Stage        Stage                   `json:"stage"`
	StartTime    time.Time               `json:"startTime,omitzero"`     // A-CST-18
	InitTurn     int                     `json:"initTurn,omitzero"`      // index of the init container whose turn it is; len(init containers): all are through
	Deleted      bool                    `json:"deleted,omitzero"`       // somebody asked for its end
	StraySandbox bool                    `json:"untidy,omitzero"`        // the runtime may have a sandbox of this pod that the machine does not know
	Strays       []string                `json:"strays,omitempty"`       // containers that were asked to be removed, and may be at any time
	Doubt        time.Time               `json:"doubt,omitzero"`         // until then an empty snapshot proves nothing: a call may still be at work
	ImageBack    map[string]BackoffPlace `json:"imageBackOff,omitempty"` // by image as written (A-IMG-5)
	Reported     v1.PodStatus            `json:"reported"`               // the status as last published
	LastID       EffectID                `json:"lastID"`
	Drift        time.Duration           `json:"drift,omitzero"` // total change of the wall clock since the pod began (clock.go)
}

// bookkeeping is what a machine remembers from step to step about its caller, its process
// and the step before. Another process has none of it.
type bookkeeping struct {
	wakeAt    time.Time   // the timer ends with its process
	holds     string      // the container that those after it wait for before they start
	observing work        // an Observe that something uncertain waits for: asked for again first
	away      bool        // restored or adopted, and the source has not sent its object yet: what is known of it may be old
	adopted   bool        // made without a checkpoint: its status stands until the first snapshot
	deletion  metav1.Time // deletionTimestamp of the object as last seen
	unseen    bool        // restored or adopted, and no snapshot seen yet
	passing   bool        // the status waits for the answer to a start
	toSave    bool        // the last step changed what a checkpoint has
	podIsNew  bool        // the last step changed the pod: its spec, labels or annotations
}

// setup is what a pod needs beside its sandbox: the cgroup before it, the volumes
// before its containers.
type setup struct {
	cgroup  work
	volumes work
	found   EffectID // the MountVolumes that has last found what the claims are bound to; 0: none
}

// release is what is given back once nothing runs.
type release struct {
	volumes work
	sandbox work
	cgroup  work
	kept    bool // volumes are given back, logs are not
	deleted bool // DeleteObject was sent; sending it twice is harmless
	cleared bool // the node needed space: containers and logs go although the pod stays; another process is asked again
}

// work is one step that is done once: not begun, under way, done, or waiting for a retry.
type work struct {
	done    bool
	op      EffectID
	since   time.Time // when the attempt under way began, or the last one failed
	failure *Failure  // of the last attempt that has ended
	retryAt time.Time
}

// New makes the machine of a pod that was defaulted and validated; the first
// event must be Accepted. The machine keeps the pod, which must not be changed any more.
func New(pod *v1.Pod, options Options) *Machine {
	options.HostIPs = slices.Clone(options.HostIPs)
	m := &Machine{given: given{
		pod: pod, options: options, generation: pod.Generation,
		tuning: podTuningOf(pod), restartAllRule: hasRestartAllRule(pod), asks: groupAskedOf(pod),
	}}
	m.kept.ImageBack = map[string]BackoffPlace{}
	for i := range m.pod.Spec.InitContainers {
		m.containers = append(m.containers, newInitContainer(&m.pod.Spec.InitContainers[i]))
	}
	for i := range m.pod.Spec.Containers {
		m.containers = append(m.containers, newContainer(role{spec: &m.pod.Spec.Containers[i], kind: regularContainer}))
	}
	for i := range m.pod.Spec.EphemeralContainers {
		m.containers = append(m.containers, newEphemeral(&m.pod.Spec.EphemeralContainers[i]))
	}
	for _, c := range m.containers {
		c.tuning = tuningOf(m.pod, c.spec.Name)
	}
	m.imageVolumes = newImageVolumes(m.pod)
	m.resize = newResize(m.pod)
	m.kept.Reported = v1.PodStatus{Phase: v1.PodPending, Conditions: scheduledCondition(pod)}
	m.derivePod()
	return m
}

// Step takes one event and says what must be done now, in order. The same
// machine fed with the same events always answers the same.
func (m *Machine) Step(ev Event) []Effect {
	if m.kept.Stage == Gone {
		return nil
	}
	clockChanged := m.hearOfClock(ev.Fact)
	s := &step{Machine: m, wall: ev.At, now: m.own(ev.At), stageBefore: m.kept.Stage}
	if !m.wakeAt.IsZero() {
		s.overdue = max(0, s.now.Sub(m.wakeAt))
	}
	m.podIsNew = false
	ev.Fact.apply(s)
	if m.podIsNew { // only facts change it
		m.derived.podChanged()
	}
	plan(s)
	asBefore := routine(s, ev.Fact)
	if !asBefore && !unshown(s, ev.Fact) {
		if m.passing = s.inPassing(ev.Fact); !m.passing {
			publish(s)
		}
	}
	if m.kept.Stage == Gone {
		s.do(Finish{End: endOf(m)})
	}
	m.toSave = (!asBefore || s.counted) && !(m.adopted && m.unseen) // until the first snapshot, the next lifepod can adopt it again
	setTimer(s, clockChanged)
	return s.effects
}

// Stage says how far the pod's life has come.
func (m *Machine) Stage() Stage { return m.kept.Stage }

// Status is the pod's status as last published; the caller owns the copy.
func (m *Machine) Status() v1.PodStatus { return *m.kept.Reported.DeepCopy() }

// Pod is the pod as the node runs it, with the later changes of its spec and the
// resources allocated to it (A-ADM-7). It is shared, and must not be changed.
func (m *Machine) Pod() *v1.Pod { return m.pod }

// PodChanged says whether the last Step changed Pod.
func (m *Machine) PodChanged() bool { return m.podIsNew }

// changePod replaces the machine's pod by a copy, once in a step, which the step may change.
func (s *step) changePod() {
	if s.podCopied {
		return
	}
	s.podCopied = true
	s.pod = s.pod.DeepCopy()
	for i, c := range s.containers {
		c.spec = specOf(s.pod, i)
	}
}

// specOf is the spec of the pod's i-th container, in the order of Machine.containers.
func specOf(pod *v1.Pod, i int) *v1.Container {
	inits, regulars := len(pod.Spec.InitContainers), len(pod.Spec.Containers)
	switch {
	case i < inits:
		return &pod.Spec.InitContainers[i]
	case i < inits+regulars:
		return &pod.Spec.Containers[i-inits]
	}
	return ephemeralSpec(&pod.Spec.EphemeralContainers[i-inits-regulars])
}

func (m *Machine) inits() []*container    { return m.containers[:len(m.pod.Spec.InitContainers)] }
func (m *Machine) regulars() []*container { return m.ordered()[len(m.pod.Spec.InitContainers):] }

func (m *Machine) containerNamed(name string) *container {
	for _, c := range m.containers {
		if c.spec.Name == name {
			return c
		}
	}
	return nil
}

func (m *Machine) containerWithID(id string) *container {
	for _, c := range m.containers {
		if id != "" && c.ID == id {
			return c
		}
	}
	return nil
}

// step is one call of Step: the machine, the event's time, and the effects so far.
type step struct {
	*Machine
	wall        time.Time // of the event
	now         time.Time // the same on the machine's own clock, which decides (clock.go)
	effects     []Effect
	wake        time.Time // the earliest time at which something is due
	stageBefore Stage
	known       bool          // the runtime has reported nothing new of an instance
	unsaid      bool          // the status has changed although no effect shows it
	counted     bool          // a probe's result has changed its count
	podCopied   bool          // the pod is this step's own
	overdue     time.Duration // how late the timer is: a sign that lifepod gets too little CPU time
}

func (s *step) do(e Effect) {
	if s.effects == nil {
		s.effects = make([]Effect, 0, 4) // as many as most steps have
	}
	s.effects = append(s.effects, e)
}

func (s *step) nextID() EffectID {
	s.kept.LastID++
	return s.kept.LastID
}

// due says whether t, on the machine's own clock, has come. If not, the machine wakes
// then.
func (s *step) due(t time.Time) bool {
	if !s.now.Before(t) {
		return true
	}
	if s.wake.IsZero() || t.Before(s.wake) {
		s.wake = t
	}
	return false
}

// begin says whether the work must begin now, and marks it as under way.
func (s *step) begin(w *work) (EffectID, bool) {
	if w.done || w.op != 0 || !s.due(w.retryAt) {
		return 0, false
	}
	w.op, w.since = s.nextID(), s.now
	return w.op, true
}

// finish files the answer to a piece of work; it reports whether that answer is the
// expected one.
func (s *step) finish(w *work, r Result) bool {
	if w.op == 0 || w.op != r.ID {
		return false
	}
	w.op, w.failure, w.since = 0, r.Failure, s.now
	w.done = r.Failure == nil
	if r.Failure != nil {
		w.retryAt = s.retryOf(r.ID, r.Failure)
	}
	return true
}

// retryAfter is the pause before a failed step is tried again (A-SYNC-9).
func (s *step) retryAfter(f *Failure) time.Duration {
	if f.Class == Unavailable || f.Class == Uncertain {
		return s.options.UnavailableRetry
	}
	return s.options.RetryAfter
}

// setTimer asks for the next Woke if its time has changed.
func setTimer(s *step, clockChanged bool) {
	if s.kept.Stage == Gone {
		s.wake = time.Time{}
	}
	if clockChanged && !s.wake.IsZero() || !s.wake.Equal(s.wakeAt) {
		s.wakeAt = s.wake
		s.do(WakeAt{At: s.onWall(s.wake)})
	}
}
