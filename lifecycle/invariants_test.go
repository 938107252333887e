package lifecycle

import (
	"encoding/json"
	"reflect"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
)

// invariants are the laws of a pod's life, checked after each step of a walk.
type invariants struct {
	t         fataler
	lastID    EffectID
	stage     Stage
	startTime time.Time
	status    v1.PodStatus
	counts    map[string]int32
	runs      map[string]*runs
	finished  bool
	instances map[string]*instances
	hooks     map[string]bool   // ids of instances whose preStop hook was run
	signalled map[string]bool   // ids of instances that were sent the stop signal
	confirmed bool              // the last status that had to be confirmed was
	ranOnce   map[string]string // the instance of each ephemeral container that ran
	probes    *probeLaws

	pod, podAsItWas *v1.Pod // the machine's, and a copy of it; nil: it is compared from the next comparison on

	allocated   map[string]v1.ResourceRequirements // of each container
	allocatedOf *v1.Pod                            // the machine's pod that they were read from
	attempts    map[string]int32                   // of the group, in which instances were started
	generation  int64

	evicted  EvictionRequested // that counts
	logsKept bool              // when volumes were given back last
	adopted  bool              // the pod was adopted: what no status tells was forgotten
}

func newInvariants(t fataler, m *Machine) *invariants {
	return &invariants{t: t, probes: newProbeLaws(t), counts: map[string]int32{}, runs: map[string]*runs{}, instances: map[string]*instances{}, hooks: map[string]bool{}, signalled: map[string]bool{}, ranOnce: map[string]string{}, allocated: map[string]v1.ResourceRequirements{}, attempts: map[string]int32{}, status: m.Status()}
}

// after checks the state, the effects and the runtime against the laws.
func (l *invariants) after(w *walk, fact Fact, effects []Effect) {
	l.position(w.m)
	l.podIsReplaced(w)
	l.freshBackOff(w.m)
	for _, e := range effects {
		l.effect(w, e)
		l.probes.effect(w, e)
		l.keeps(w, e)
	}
	l.nothingTwice(w)
	l.countsInstances(w.m)
	if w.comparesNow() {
		l.probes.nothingNew(w, fact)
	}
	l.ephemeralOnce(w)
	waitsAreLawful(l.t, w.m)
	l.remember(w)
}

// podIsReplaced: the machine's pod is never changed in place, because clones have the same one.
// The life's last pod is compared when nothing is left of it.
func (l *invariants) podIsReplaced(w *walk) {
	m := w.m
	if l.pod != nil && (m.pod != l.pod || m.kept.Stage == Gone) {
		if !reflect.DeepEqual(l.pod, l.podAsItWas) {
			l.t.Fatalf("the machine's pod was changed in place")
		}
		l.pod = nil
	}
	if l.pod == nil && w.comparesNow() {
		l.pod, l.podAsItWas = m.pod, m.pod.DeepCopy()
	}
}

// position: nothing goes back.
func (l *invariants) position(m *Machine) {
	if m.kept.Stage < l.stage {
		l.t.Fatalf("stage goes back from %v to %v", l.stage, m.kept.Stage)
	}
	l.stage = m.kept.Stage
	if !l.startTime.IsZero() && !l.startTime.Equal(m.kept.StartTime) {
		l.t.Fatalf("startTime changes from %v to %v", l.startTime, m.kept.StartTime)
	}
	l.startTime = m.kept.StartTime
	for _, c := range m.containers {
		if c.RestartCount < l.counts[c.spec.Name] {
			l.t.Fatalf("restartCount of %s goes back to %d", c.spec.Name, c.RestartCount)
		}
		l.counts[c.spec.Name] = c.RestartCount
	}
}

// outlives: a report says the same after it was written and read, as the journal does, but for what the journal has beside it.
func (l *invariants) outlives(r Report) {
	var read Report
	text, err := json.Marshal(r)
	if err == nil {
		err = json.Unmarshal(text, &read)
	}
	if read.Subject, read.Rule = r.Subject, r.Rule; err != nil || read.Words() != r.Words() || r.Kind == "" {
		l.t.Fatalf("%s becomes %s: %v", r, read, err)
	}
}

// effect checks one effect against what may be asked for now.
func (l *invariants) effect(w *walk, e Effect) {
	if id := e.EffectID(); id != 0 {
		if _, cancel := e.(Cancel); !cancel {
			if id <= l.lastID {
				l.t.Fatalf("effect ID %d of %T is not new", id, e)
			}
			l.lastID = id
		}
	}
	switch e := e.(type) {
	case EnsureCgroup, MountVolumes, PrepareClaims, InspectImage, PullImage, StartContainer:
		l.onlySyncing(w, e)
	case CreateSandbox:
		l.onlySyncing(w, e)
		l.withGroups(w)
		l.withClaims(w)
	case UnprepareClaims:
		l.nothingUsesClaims(w)
	case Tell:
		l.outlives(e.Report)
	case CreateContainer:
		l.onlySyncing(w, e)
		l.notTooEarly(w, e)
		l.withImages(w, e)
		l.withRoom(w, e)
		l.initsInOrder(w, e)
	case StopContainer:
		l.sidecarsLast(w, e)
		l.inTime(w, e)
	case RunHook:
		l.hook(w, e)
	case RemoveContainer:
		if e.KeepLog && !l.confirmed {
			l.t.Fatalf("%s is removed before everybody has seen AllContainersRestarting (B-RAC-23)", e.Container)
		}
	case Publish:
		l.published(w, e.Status)
		l.ended(w, e.Status)
		l.waitingSaysWhy(e.Status)
		l.claimsGivenBack(w, e.Status)
		l.probes.published(w, e.Status)
	case DeleteObject:
		l.nothingHeld(w)
	case Finish:
		if l.finished {
			l.t.Fatalf("Finish comes twice")
		}
		l.finished = true
	}
}

// withGroups: the groups that volumes name are known when the sandbox is created
// (A-SEC-3).
func (l *invariants) withGroups(w *walk) {
	if SandboxNeedsVolumeGroups(w.m.pod) && !w.m.setup.volumes.done && (w.found == 0 || w.found != w.m.setup.volumes.op) {
		l.t.Fatalf("the sandbox is made before the volumes were found")
	}
}

// withRoom: nothing is created while the pod's cgroup is getting room for it (A-ACT-18). A room that is on its way for an allocation
// that was taken back meanwhile keeps nobody waiting.
func (l *invariants) withRoom(w *walk, e CreateContainer) {
	if call := w.m.resize.call; call.op != 0 && call.room && w.m.resize.lacksRoom() {
		l.t.Fatalf("%s is created before the pod's cgroup has room for it", e.Container)
	}
}

// nothingHeld: an object is deleted only once nothing runs any more, and volumes,
// addresses and cgroup are given back (B-FIN-6).
func (l *invariants) nothingHeld(w *walk) {
	r := w.m.release
	if w.m.kept.Stage < Terminated || anyMayRun(w.m) || !r.volumes.done || !r.cgroup.done || w.m.kept.StraySandbox || w.m.keepsRecords() {
		l.t.Fatalf("the object can be deleted in stage %v with %+v", w.m.kept.Stage, r)
	}
}

func (l *invariants) onlySyncing(w *walk, e Effect) {
	if w.m.kept.Stage != Syncing {
		l.t.Fatalf("%T in stage %v: nothing is started once a pod terminates (B-WRK-4)", e, w.m.kept.Stage)
	}
}

// notTooEarly: a restart after a crash comes when its back-off is over, not earlier
// (A-BO-3, A-BO-4); remember notes the times of creation. A container whose instances are
// all gone, with their records, restarts for that reason and not after a crash (B-RAC-4).
func (l *invariants) notTooEarly(w *walk, e CreateContainer) {
	if w.m.containerNamed(e.Container).Exit == nil {
		return
	}
	if r := l.runs[e.Container]; r != nil && !r.free && !r.endedAt.IsZero() && w.now.Before(r.due()) {
		l.t.Fatalf("%s is restarted %v too early", e.Container, r.due().Sub(w.now))
	}
}

// sidecarsLast: a sidecar is stopped after all regular containers, unless the
// deadline has passed (B-SIDE-2, B-SIDE-3), or it is in an unknown state.
func (l *invariants) sidecarsLast(w *walk, e StopContainer) {
	c := w.m.containerNamed(e.Container)
	if c.stopping.op == e.ID && !w.now.Before(c.stopping.deadline) {
		return // in an unknown state: its own deadline is now (A-ACT-7)
	}
	if c.Kill != nil && (c.Kill.Force || !w.now.Before(c.Kill.Deadline)) {
		return // a restart of all at once knows no order (B-RAC-6), a graceful one has a deadline of its own
	}
	if c.kind != sidecarContainer || w.m.stop.Deadline.IsZero() || !w.now.Before(w.m.stop.Deadline) {
		return
	}
	for _, other := range w.m.regulars() {
		if other.mayRun() {
			l.t.Fatalf("sidecar %s is stopped while %s may run", e.Container, other.spec.Name)
		}
	}
}

// nothingTwice: at most one create or start of one container, and one sandbox
// creation, is under way.
func (l *invariants) nothingTwice(w *walk) {
	underWay := map[string]bool{}
	for _, c := range w.calls {
		key := ""
		switch e := c.effect.(type) {
		case CreateContainer:
			key = e.Container
		case StartContainer: // the answer of one that has already ended is of no interest
			if o := w.Container(e.ContainerID); o != nil && o.State != StateExited {
				key = e.Container
			}
		case CreateSandbox, Observe:
			key = effectName(e)
		}
		if key != "" && underWay[key] {
			l.t.Fatalf("two calls for %s are under way", key)
		}
		underWay[key] = true
	}
}

// published checks a status against the previous one (A-STAT-7, A-API-4, A-PHASE-7,
// B-FIN-13: an older status is never published after a newer one) and against what really
// runs (B-FIN-3).
func (l *invariants) published(w *walk, s v1.PodStatus) {
	old := l.status
	l.status = s
	switch s.Phase {
	case v1.PodPending, v1.PodRunning, v1.PodSucceeded, v1.PodFailed:
	default:
		l.t.Fatalf("phase %q is none that a node reports (A-PHASE-9)", s.Phase)
	}
	if s.ObservedGeneration < old.ObservedGeneration {
		l.t.Fatalf("observedGeneration goes back from %d to %d (A-STAT-7)", old.ObservedGeneration, s.ObservedGeneration)
	}
	if Terminal(old.Phase) && s.Phase != old.Phase {
		l.t.Fatalf("terminal phase %s changes to %s", old.Phase, s.Phase)
	}
	if isTrue(old.Conditions, v1.PodInitialized) && !isTrue(s.Conditions, v1.PodInitialized) {
		l.t.Fatalf("Initialized goes back")
	}
	if Terminal(s.Phase) {
		for _, c := range w.running() {
			if !w.isOverdue(c.ID) && !w.isOverdue(c.SandboxID) {
				l.t.Fatalf("phase %s while %s runs", s.Phase, c.Name)
			}
		}
	}
	for i := range old.ContainerStatuses {
		l.transition(w, &old.ContainerStatuses[i], &s.ContainerStatuses[i])
	}
	for i := range old.InitContainerStatuses {
		l.transition(w, &old.InitContainerStatuses[i], &s.InitContainerStatuses[i])
	}
	for _, c := range old.EphemeralContainerStatuses {
		i := slices.IndexFunc(s.EphemeralContainerStatuses, func(n v1.ContainerStatus) bool { return n.Name == c.Name })
		if i < 0 || c.State.Terminated != nil && s.EphemeralContainerStatuses[i].State.Terminated == nil {
			l.t.Fatalf("ephemeral container %s goes back", c.Name)
		}
	}
}

// transition checks what the API server requires of a container's status (A-API-4,
// B-FIN-9).
func (l *invariants) transition(w *walk, old, now *v1.ContainerStatus) {
	if now.State.Running != nil && Terminal(l.status.Phase) {
		l.t.Fatalf("%s is shown running in phase %s", now.Name, l.status.Phase)
	}
	if now.RestartCount < old.RestartCount {
		l.t.Fatalf("%s: restarts go from %d to %d (B-GC-8)", now.Name, old.RestartCount, now.RestartCount)
	}
	t, c := old.State.Terminated, w.m.containerNamed(old.Name)
	if t == nil || w.m.restartAll.Ever || hasRestartAllRule(w.pod) || w.asked[old.Name] || now.State.Terminated != nil || w.pod.Spec.RestartPolicy == v1.RestartPolicyAlways && c.spec.RestartPolicy == nil {
		return
	}
	if t.Reason == reasonOOMKilled && t.ExitCode == 0 {
		return // A-INIT-6 wants it run again, A-API-4 does not
	}
	if c.kind == sidecarContainer || restartsOn(w.pod, c.spec, t.ExitCode) {
		return
	}
	l.t.Fatalf("the API refuses that %s, terminated with %d, is %+v", old.Name, t.ExitCode, now.State)
}

// gone: nothing of the pod is left in the runtime, except what abandoned calls created
// later.
func (l *invariants) gone(w *walk) {
	if !l.finished || !Terminal(w.m.Status().Phase) {
		l.t.Fatalf("gone in phase %s, finished: %t", w.m.Status().Phase, l.finished)
	}
	for len(w.calls) > 0 { // removals that nobody waits for
		w.goOn()
	}
	for _, s := range w.Sandboxes {
		if !w.isOverdue(s.ID) {
			l.t.Fatalf("sandbox %s is left behind", s.ID)
		}
	}
	for _, c := range w.Containers {
		if !w.isOverdue(c.ID) && !w.isOverdue(c.SandboxID) {
			l.t.Fatalf("container %s %s is left behind", c.Name, c.ID)
		}
	}
}
