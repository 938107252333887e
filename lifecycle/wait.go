package lifecycle

import (
	"fmt"
	"time"

	"github.com/lifepod/lifepod/lifecycle/group"
)

// Wait is something that a pod, or one of its containers, waits for.
type Wait struct {
	Subject string `json:"subject"` // a container's name, or "pod"
	// For is what it waits for, as a word that doesn't change: see the WaitFor constants.
	For WaitFor `json:"for"`
	// On is what keeps it: another container, an image, a volume, a condition's type, a
	// hook's or a probe's name; may be empty.
	On string `json:"on,omitzero"`
	// Since is when the wait began; zero: not known.
	Since time.Time `json:"since,omitzero"`
	// Until is when it goes on, or tries again, at the latest; zero: nobody knows.
	Until time.Time `json:"until,omitzero"`
	// Because is the failure or the decision behind it, in the words of the status and the
	// story (In); may be empty.
	Because string `json:"because,omitzero"`
	// Report is the decision; nil: Because is a failure, or what others say.
	Report *Report `json:"report,omitzero"`
	// Probe is how far the probe On is.
	Probe ProbeProgress `json:"probe,omitzero"`
	// Value is the status of the condition of the readiness gate On; empty: nobody has set it.
	Value string `json:"value,omitzero"`
	// Held is why a hook has not ended though its process has, as the worker says; empty as a rule.
	Held  string     `json:"held,omitzero"`
	Group *GroupWait `json:"group,omitzero"` // of WaitGroup
	Rule  string     `json:"rule,omitzero"`
}

// GroupWait is what is known of a group that has no leader such as a JobSet.
type GroupWait struct {
	// Behind are members that the attempt waits for, unless Because names them, beside More.
	Behind []group.Behind `json:"behind,omitzero"`
	More   int32          `json:"more,omitzero"`
	ByPods int32          `json:"byPods,omitzero"` // members that only their pods tell of
	Way    group.Way      `json:"way,omitzero"`
}

// ProbeProgress is how far a probe is: Run equal results in a row, of as many as it takes.
type ProbeProgress struct {
	Failing bool   `json:"failing,omitzero"`
	Run     int32  `json:"run,omitzero"`
	Of      int32  `json:"of,omitzero"`
	Said    string `json:"said,omitzero"` // by the last attempt, if it did not succeed
}

// WaitFor is a kind of wait.
type WaitFor string

// What a pod waits for before its containers can start.
const (
	WaitCgroup   WaitFor = "cgroup"   // the pod's cgroup is being made
	WaitVolumes  WaitFor = "volumes"  // its volumes are being mounted
	WaitClaims   WaitFor = "claims"   // drivers prepare the devices of its resource claims
	WaitNetwork  WaitFor = "network"  // the runtime has no network yet
	WaitSandbox  WaitFor = "sandbox"  // its sandbox is being made, or is to be replaced
	WaitSnapshot WaitFor = "snapshot" // what the runtime has is looked at, because a call had no answer or lifepod has just begun
)

// What a container waits for before it starts.
const (
	WaitSetup     WaitFor = "setup"      // On, a kind of wait of the pod: volumes, sandbox …
	WaitTurn      WaitFor = "turn"       // On, a container that must complete, start or be started before it
	WaitTarget    WaitFor = "target"     // On, the container whose processes an ephemeral one sees
	WaitImage     WaitFor = "image"      // On, an image that is looked for on this machine
	WaitImagePull WaitFor = "image-pull" // On, an image that is being pulled, or whose pull waits for others
	// WaitImageRetry is for the next attempt to get On, an image that could not be had.
	WaitImageRetry WaitFor = "image-retry"
	WaitBackOff    WaitFor = "back-off" // the next restart after an exit, or after restarts of all containers
	WaitRetry      WaitFor = "retry"    // the next attempt to create or start it
	WaitCreate     WaitFor = "create"   // the runtime is creating it
	WaitStart      WaitFor = "start"    // the runtime is starting it
	// WaitRestartAll is for the end of a restart of all containers in place. On is its phase:
	// "announce", "stop" or "remove".
	WaitRestartAll WaitFor = "restart-all"
	WaitRemoval    WaitFor = "removal" // the removal of its old instances, in a restart of all
	WaitGroup      WaitFor = "group"   // the other members of its group, before it starts
)

// What a pod or a container that runs waits for.
const (
	WaitHook  WaitFor = "hook"  // On, its postStart hook
	WaitProbe WaitFor = "probe" // On, "startup" or "readiness": the probe has not succeeded yet, or not any more
	// WaitReadinessGate is for On, the type of a condition that others must set to True.
	WaitReadinessGate WaitFor = "readiness-gate"
	// WaitCompletion is for the end of On, the containers that still run after others have ended for good.
	WaitCompletion     WaitFor = "completion"
	WaitResize         WaitFor = "resize"          // On, how far it is: "admission", "Deferred", "Infeasible" or "InProgress"
	WaitVolumesRefresh WaitFor = "volumes-refresh" // the files of changed objects are being written
)

// What the end of a container or a pod waits for.
const (
	WaitPreStop  WaitFor = "pre-stop"  // On, its preStop hook; Until is the end of its grace
	WaitStopTurn WaitFor = "stop-turn" // On, the containers that are stopped before it
	// WaitGrace is for the end of its process, which has the stop signal; Until is the kill.
	WaitGrace         WaitFor = "grace"
	WaitStopRetry     WaitFor = "stop-retry"     // the next attempt to stop it
	WaitSandboxStop   WaitFor = "sandbox-stop"   // the sandbox is being stopped
	WaitClaimsRelease WaitFor = "claims-release" // drivers take the devices of its claims back
	WaitUnmount       WaitFor = "unmount"        // its volumes are being unmounted
	WaitSandboxRemove WaitFor = "sandbox-remove" // what the runtime keeps of the sandbox is being removed
	WaitCgroupRemove  WaitFor = "cgroup-remove"  // its cgroup is being removed
	// WaitFinalizers is for others: On are the object's finalizers, which they remove.
	WaitFinalizers WaitFor = "finalizers"
)

// ofPod is the subject of what is about the pod as a whole.
const ofPod = "pod"

// Waits says what the pod and each of its containers wait for: the pod first, then the
// containers in the order of the spec. They are a function of the state alone and hold from
// one Step to the next; whoever reads them compares their times with the clock. A wait without
// Until ends with an answer of the runtime or the node, or with something that others do.
func (m *Machine) Waits() []Wait {
	w := &waits{m: m}
	switch {
	case m.kept.StartTime.IsZero():
	case m.kept.Stage == Gone:
		w.finalizers()
	case m.unseen:
		w.snapshot("B-RST-1")
	case m.kept.Stage == Syncing:
		w.syncing()
	case m.kept.Stage == Terminating:
		w.terminating()
	default:
		w.terminated()
	}
	return w.list
}

// waits collects what a machine waits for.
type waits struct {
	m    *Machine
	list []Wait
}

func (w *waits) add(wait Wait) {
	wait.Because = wait.In(fmt.Sprintf)
	w.list = append(w.list, wait)
}

// ahead is t, on the machine's own clock, as a time of the wall clock if it lies after the
// last step, else zero. The machine is never woken later than at the first such time.
func (w *waits) ahead(t time.Time) time.Time {
	if w.m.wakeAt.IsZero() || t.Before(w.m.wakeAt) {
		return time.Time{}
	}
	return w.m.onWall(t)
}

// on says that the pod waits for a piece of work that is under way, or has failed and is
// tried again.
func (w *waits) on(x *work, wait Wait) {
	if x.done || x.op == 0 && x.failure == nil {
		return
	}
	wait.Subject, wait.Since, wait.Because = ofPod, w.m.onWall(x.since), x.failure.text()
	if x.op == 0 {
		wait.Until = w.ahead(x.retryAt)
	}
	w.add(wait)
}

// text is a failure as one text: its reason, if it has one, and its message.
func (f *Failure) text() string {
	switch {
	case f == nil || f.Class == Cancelled:
		return ""
	case f.Reason == "" || f.Message == "":
		return f.Reason + f.Message
	}
	return f.Reason + ": " + f.Message
}

// snapshot says that what the runtime has is looked at.
func (w *waits) snapshot(rule string) {
	if _, any := w.m.uncertainSince(); !any && !w.m.unseen && w.m.observing.op == 0 && w.ahead(w.m.observing.retryAt).IsZero() {
		return
	}
	wait := Wait{Subject: ofPod, For: WaitSnapshot, Since: w.m.onWall(w.m.observing.since), Rule: rule}
	if w.m.observing.op == 0 {
		wait.Until = w.ahead(w.m.observing.retryAt)
	}
	w.add(wait)
}

// finalizers says whose finalizers hold the object of a pod up that is gone from its node (B-DEL-7).
func (w *waits) finalizers() {
	if !w.m.kept.Deleted {
		return
	}
	for _, name := range w.m.pod.Finalizers {
		w.add(Wait{Subject: ofPod, For: WaitFinalizers, On: name, Rule: "B-DEL-7"})
	}
}
