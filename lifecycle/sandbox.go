package lifecycle

import (
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
)

// sandbox is the pod's newest sandbox.
type sandbox struct {
	State   sandboxState `json:"state"`
	ID      string       `json:"id,omitzero"` // empty: none was ever created
	Attempt uint32       `json:"attempt,omitzero"`
	IPs     []string     `json:"ips,omitempty"`
	RetryAt time.Time    `json:"retryAt,omitzero"`

	failure *Failure // of the last call; what is still wrong shows again soon
	unfit   string   // why one that is ready can't be used; another process replaces it for the same reason
	underWay
}

type sandboxState int

const (
	sandboxNone sandboxState = iota
	sandboxCreating
	sandboxReady
	sandboxLost      // no longer ready: everything in it is stopped, then it is replaced (A-SBX-1)
	sandboxStopping  // StopSandbox under way
	sandboxStopped   // its addresses are given back
	sandboxUncertain // CreateSandbox ended without an answer; waits for Observed
)

func (s sandboxState) String() string {
	return [...]string{"none", "creating", "ready", "lost", "stopping", "stopped", "uncertain"}[s]
}

// sandboxDoubt is how long the runtime may go on with a RunPodSandbox whose answer nobody
// awaits. No snapshot shows its sandbox before it is complete.
const sandboxDoubt = 10 * time.Second

// NetworkNotReady is the reason if no sandbox was asked for because the runtime has no
// network for it yet (A-SYNC-6). The Message has Kubernetes' words.
const NetworkNotReady = "NetworkNotReady"

// networkRetry is the pause before the network is checked again (A-SYNC-6).
const networkRetry = time.Second

// podIPs are the pod's addresses, kept after the sandbox stops (A-CST-17).
func (m *Machine) podIPs() []string {
	if m.pod.Spec.HostNetwork {
		if m.sandbox.ID == "" {
			return nil
		}
		return m.options.HostIPs
	}
	return m.sandbox.IPs
}

// planSandbox creates the sandbox once the cgroup is there (A-SYNC-4), the resource claims are
// prepared (A-DRA-2) and the groups of volumes are known, and replaces one that was lost.
func planSandbox(s *step) {
	if s.sandbox.State == sandboxLost || s.sandbox.State == sandboxStopping {
		replaceSandbox(s)
	}
	if s.kept.Stage != Syncing || s.sandbox.State != sandboxNone || !s.setup.cgroup.done || !s.setup.volumesExpected() {
		return
	}
	if SandboxNeedsVolumeGroups(s.pod) && !s.setup.groupsKnown() || !s.claimsReady() {
		return
	}
	if !s.due(s.sandbox.RetryAt) {
		return
	}
	s.sandbox.State, s.sandbox.op, s.sandbox.touchedAt = sandboxCreating, s.nextID(), s.now
	s.do(CreateSandbox{ID: s.sandbox.op, Attempt: s.sandbox.Attempt})
}

// volumesExpected says whether the volumes are mounted, or are being mounted for the
// first time: a token comes from the API server while the sandbox is created. After a
// failure the pod gets no sandbox before they are mounted (A-SYNC-8).
func (s *setup) volumesExpected() bool {
	return s.volumes.done || s.volumes.op != 0 && s.volumes.failure == nil
}

// SandboxNeedsVolumeGroups says whether the sandbox is created only once it is known what the
// pod's claims are bound to: that may name a group, which the sandbox gets like the
// containers (A-SEC-3).
func SandboxNeedsVolumeGroups(pod *v1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.Volumes, func(v v1.Volume) bool {
		return v.PersistentVolumeClaim != nil || v.Ephemeral != nil
	})
}

// groupsKnown says whether the volumes are mounted, or those that are being mounted were found.
func (s *setup) groupsKnown() bool {
	return s.volumes.done || s.volumes.op != 0 && s.volumes.op == s.found
}

// startable says whether everything that containers need to start is there: sandbox,
// network and volumes (A-COND-3). Once true, it stays so as long as the sandbox: after a
// kill -9 volumes are mounted again.
func (m *Machine) startable() bool {
	return m.sandbox.State == sandboxReady && (m.setup.volumes.done || isTrue(m.kept.Reported.Conditions, v1.PodReadyToStartContainers))
}

// Why a sandbox that is ready can't be used, in Kubernetes' words (A-COND-3). A network that is not what hostNetwork asks for
// can't be: the field never changes.
const (
	unfitNoAddress = "pod sandbox has no IP address"
	unfitSeveral   = "multiple pod sandboxes are ready and need to be reconciled"
)

// readyToStartCondition follows A-COND-3. A sandbox that waits for the first volumes counts as none, as in Kubernetes, where it comes
// after them (A-SYNC-8).
func readyToStartCondition(s *step) v1.PodCondition {
	c := v1.PodCondition{Type: v1.PodReadyToStartContainers, Status: boolStatus(s.startable())}
	if c.Status == v1.ConditionTrue {
		return c
	}
	c.Reason = "PodSandboxNotReady"
	switch b := &s.sandbox; {
	case b.State == sandboxLost && b.unfit != "":
		c.Message = b.unfit
	case b.ID == "" || b.State == sandboxReady && b.Attempt == 0:
		c.Message = "no pod sandbox exists"
	default:
		c.Message = "pod sandbox is not ready"
	}
	return c
}

// shownIPs are the addresses in the status: none before the volumes are mounted, as in
// Kubernetes, where the sandbox comes after them (A-SYNC-8).
func (m *Machine) shownIPs() []string {
	if !m.setup.volumes.done && len(m.kept.Reported.PodIPs) == 0 {
		return nil
	}
	return m.podIPs()
}

func (f SandboxCreated) apply(s *step) {
	if s.sandbox.op != f.ID || s.sandbox.State != sandboxCreating {
		return
	}
	s.sandbox.op, s.sandbox.touchedAt = 0, s.now
	if f.Failure != nil {
		sandboxFailed(s, f.Failure)
		return
	}
	for _, w := range f.Warnings {
		s.do(RecordEvent{Type: warning, Reason: w.Reason, Message: w.Message})
	}
	sandboxIsReady(s, f.SandboxID, s.sandbox.Attempt, f.IPs)
}

func sandboxIsReady(s *step, id string, attempt uint32, ips []string) {
	s.sandbox.State, s.sandbox.ID, s.sandbox.Attempt, s.sandbox.failure = sandboxReady, id, attempt, nil
	s.sandbox.IPs = primaryFirst(ips, s.options.HostIPs)
	if !s.addressed(s.sandbox.IPs) {
		loseSandbox(s, KindNoAddress, unfitNoAddress)
		return
	}
	report := Report{Subject: ofPod, Kind: "sandbox-ready", Rule: "A-COND-3"}
	if len(s.sandbox.IPs) > 0 {
		report.Kind, report.On = KindSandboxReadyAt, strings.Join(s.sandbox.IPs, ", ")
	}
	tell(s, report)
}

// sandboxFailed files a failed RunPodSandbox (A-SBX-3). If there was no answer, the
// machine first looks for what the call left behind.
func sandboxFailed(s *step, f *Failure) {
	s.kept.StraySandbox = true // even a refusal may have left something: looked for at the pod's end
	report := Report{Subject: ofPod, Kind: KindSandboxFailed, Message: f.Message, Rule: "A-SBX-3"}
	text := report.Words().What
	if f.Class == Uncertain || f.Class == Cancelled {
		s.sandbox.State, s.kept.Doubt = sandboxUncertain, s.now.Add(sandboxDoubt)
		if f.Class == Uncertain && s.kept.Stage == Syncing {
			s.sandbox.failure = f
			s.do(RecordEvent{Type: warning, Reason: "FailedCreatePodSandBox", Message: text})
			tellUnanswered(s, report)
		}
		return
	}
	s.sandbox.State, s.sandbox.failure = sandboxNone, f
	s.sandbox.RetryAt = s.now.Add(s.retryAfter(f))
	if f.Reason == NetworkNotReady {
		s.sandbox.RetryAt = s.now.Add(networkRetry)
	}
	if s.kept.Stage != Syncing {
		return
	}
	if f.Reason == NetworkNotReady {
		s.do(RecordEvent{Type: warning, Reason: NetworkNotReady, Message: f.Message})
		tellRetry(s, Report{Subject: ofPod, Kind: KindSetupFailed, Message: f.Message, Rule: "A-SYNC-6"}, s.sandbox.RetryAt)
		return
	}
	s.do(RecordEvent{Type: warning, Reason: "FailedCreatePodSandBox", Message: text})
	tellBlocked(s, report, f, s.sandbox.RetryAt)
}

func (f SandboxExited) apply(s *step) {
	if s.sandbox.State != sandboxReady || s.sandbox.ID != f.SandboxID {
		return
	}
	loseSandbox(s, KindSandboxNotReady, "")
}

// loseSandbox files that the sandbox can't be used and must be replaced. It is unfit for that reason; empty: it is not ready.
func loseSandbox(s *step, why Kind, unfit string) {
	s.sandbox.State, s.sandbox.unfit, s.sandbox.touchedAt = sandboxLost, unfit, s.now
	tell(s, Report{Subject: ofPod, Kind: why, Outcome: "stop-all-containers", Rule: "A-SBX-1"})
}

// addressed says whether a sandbox with these addresses can be the pod's: it must have
// one, unless the pod uses the host's network (A-SBX-1, B-RST-14).
func (m *Machine) addressed(ips []string) bool {
	return m.pod.Spec.HostNetwork || len(ips) > 0
}

// replaceSandbox stops what is left in a lost sandbox, then the sandbox; a new one
// follows if some container must still run (A-ACT-3).
func replaceSandbox(s *step) {
	if s.stop.Deadline.IsZero() {
		s.stop.Deadline = s.now.Add(s.specGrace())
	}
	if s.sandbox.State == sandboxLost && stopContainers(s) {
		stopSandbox(s)
	}
}

func stopSandbox(s *step) {
	if s.sandbox.ID == "" { // nobody knows which it was: the runtime has none
		sandboxIsStopped(s)
		return
	}
	if !s.due(s.sandbox.RetryAt) {
		return
	}
	s.sandbox.State, s.sandbox.op, s.sandbox.touchedAt = sandboxStopping, s.nextID(), s.now
	s.do(StopSandbox{ID: s.sandbox.op, SandboxID: s.sandbox.ID})
}

// planUnknownSandbox goes on after the loss of a sandbox whose ID is unknown: there is
// nothing to stop.
func planUnknownSandbox(s *step) {
	if s.kept.Stage == Syncing && s.sandbox.State == sandboxLost && s.sandbox.ID == "" && !anyMayRun(s.Machine) {
		sandboxIsStopped(s)
	}
}

func (f SandboxStopped) apply(s *step) {
	if s.sandbox.op != f.ID || s.sandbox.State != sandboxStopping {
		return
	}
	s.sandbox.op, s.sandbox.touchedAt = 0, s.now
	if f.Failure != nil && f.Failure.Class != NotFound {
		s.sandbox.State, s.sandbox.failure = sandboxLost, f.Failure
		s.sandbox.RetryAt = s.now.Add(s.retryAfter(f.Failure))
		killFailed(s, f.Failure, s.sandbox.RetryAt)
		return
	}
	sandboxIsStopped(s)
}

func sandboxIsStopped(s *step) {
	s.sandbox.State = sandboxStopped
	if s.kept.Stage == Syncing {
		afterSandboxLoss(s)
		return
	}
	endWithSandbox(s)
}

// afterSandboxLoss decides between a new sandbox and the pod's end (A-ACT-3 and
// the "Better" of A-ACT-4: each container is judged by its own policy).
func afterSandboxLoss(s *step) {
	s.stop.Deadline = time.Time{}
	inRestartAll := s.restartAll.Active
	if inRestartAll {
		finishRestartAll(s) // all records go with the old sandbox (B-RAC-24)
	} else {
		nextAttempt(s, Because{Kind: "the-sandbox-was-lost"})
	}
	if !inRestartAll && !slices.ContainsFunc(s.regulars(), func(c *container) bool { return runsInNewSandbox(s, c) }) {
		terminate(s, stop{Cause: Completed}, s.specGrace(),
			Report{Kind: KindEnds, Because: Because{Kind: "its-sandbox-is-gone-and-no-container-is-to-be-started-again"}, Rule: "B-RST-13"})
		return
	}
	s.do(RecordEvent{Type: normal, Reason: "SandboxChanged", Message: "Pod sandbox changed, it will be killed and re-created."})
	if s.sandbox.ID != "" {
		removeForgotten(s, s.sandbox.ID)
	}
	next := sandbox{Attempt: s.sandbox.Attempt + 1, ID: s.sandbox.ID, IPs: s.sandbox.IPs, underWay: underWay{touchedAt: s.now}}
	if !s.addressed(s.sandbox.IPs) { // the next may get none either
		next.RetryAt, next.failure = s.now.Add(s.options.RetryAfter), &Failure{Message: "the sandbox before had no address"}
	}
	s.sandbox, s.claims.prepared = next, work{} // prepared for each sandbox (A-DRA-2)
	s.kept.InitTurn = 0
	for _, c := range s.containers {
		forgetRecord(s, c)
	}
	outcome := Outcome("new-sandbox")
	if len(s.inits()) > 0 {
		outcome = "init-again"
	}
	tell(s, Report{Subject: ofPod, Kind: KindSandboxLost, Outcome: outcome, Rule: "A-ACT-3"})
}

// runsInNewSandbox says whether a regular container requires a new sandbox.
func runsInNewSandbox(s *step, c *container) bool {
	if c.Position == exited {
		return c.Verdict.Restart
	}
	if c.spec.RestartPolicy != nil || s.pod.Spec.RestartPolicy != v1.RestartPolicyNever {
		return true
	}
	// pod policy Never: only if nothing of the pod has ever run (B-RST-13)
	return !slices.ContainsFunc(s.containers, func(c *container) bool { return c.Exit != nil || c.Last != nil })
}

// forgetRecord prepares a container for a new sandbox. The records went with the old one:
// an instance that was created but never started is created again, and init containers
// run again from the first (A-ACT-3). Every instance counts, whether it ran or not
// (A-CST-11).
func forgetRecord(s *step, c *container) {
	c.PreviousID, c.removal.previous = "", work{}
	ranInit := (c.kind == initContainer || c.kind == sidecarContainer) && c.Exit != nil
	if !ranInit && c.Position != created {
		return
	}
	if ranInit {
		exitIsLast(s, c)
		c.Failure, c.BackOff = nil, BackoffPlace{}
	}
	c.instance, c.removal.newest = instance{}, work{}
	c.RestartCount++
}
