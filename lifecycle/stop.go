package lifecycle

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
)

// stop is why, and by when, the pod's containers are stopped. The deadline is absolute: a
// restarted lifepod has what is left of it (B-WRK-10).
type stop struct {
	Cause    Cause     `json:"cause,omitzero"`
	Deadline time.Time `json:"deadline,omitzero"` // hooks, signals and ordering share it
	Force    bool      `json:"force,omitzero"`    // no grace at all
	GaveUp   bool      `json:"gaveUp,omitzero"`   // the creation of the sandbox was cancelled
	Reason   string    `json:"reason,omitzero"`   // status reason and message of a pod that was made to fail
	Message  string    `json:"message,omitzero"`

	Disruption string    `json:"disruption,omitzero"` // message of the condition DisruptionTarget, shown with the final phase; empty: none
	OverdueAt  time.Time `json:"overdueAt,omitzero"`  // when an eviction takes longer than it should; zero: nobody waits
}

func (m *Machine) specGrace() time.Duration { return specGrace(m.pod) }

// GraceDuration is a grace in seconds as a duration: at least one second (B-WRK-9), at
// most a hundred years, because the API accepts more than a clock can add.
func GraceDuration(seconds int64) time.Duration {
	const most = 100 * 365 * 24 * 3600
	return time.Duration(min(max(seconds, 1), most)) * time.Second
}

// KillPatience is how long an evictor waits for a pod's end: one and a half times its
// grace, at least ten seconds (B-WRK-13).
func KillPatience(pod *v1.Pod) time.Duration {
	return patience(specGrace(pod))
}

func patience(grace time.Duration) time.Duration { return max(10*time.Second, grace+grace/2) }

// planOverdue reports once that an eviction takes longer than its requester waits; the
// end goes on (B-WRK-13).
func planOverdue(s *step) {
	if s.stop.OverdueAt.IsZero() || !s.due(s.stop.OverdueAt) {
		return
	}
	s.stop.OverdueAt = time.Time{}
	const text = "Container runtime did not kill the pod within specified grace period."
	s.do(RecordEvent{Type: warning, Reason: "ExceededGracePeriod", Message: text})
	tell(s, Report{Subject: ofPod, Kind: "has-not-ended-in-time", Because: Because{Kind: "the-runtime-has-not-stopped-its-containers"}, Rule: "B-WRK-13"})
}

// apply begins the end, or shortens it: the deadline may come nearer at any
// time, and is never lifted (B-WRK-9, B-WRK-8's better).
func (f StopRequested) apply(s *step) {
	if !s.kept.Deleted {
		s.kept.Deleted = true
		s.changePod()
		s.pod.Generation++ // as an API server counts a deletion (A-COND-11)
	}
	grace := f.Grace(s.pod)
	report := Report{Kind: KindStopRequested, Outcome: ThenGrace, Span: grace, Because: f.Because, Rule: "B-WRK-9"}
	switch s.kept.Stage {
	case Syncing:
		terminate(s, stop{Cause: Deleted, Force: f.Force}, grace, report)
	case Terminating:
		deadline := s.now.Add(grace)
		if (f.Force && !s.stop.Force) || deadline.Before(s.stop.Deadline) {
			s.sandbox.RetryAt = time.Time{}
			for _, c := range s.containers {
				c.stopping.retryAt = time.Time{}
			}
			s.stop.Deadline, s.stop.Force = earlier(deadline, s.stop.Deadline), s.stop.Force || f.Force
		} else {
			report.Outcome = "the-pod-is-ending-already"
		}
		report.Subject = "pod"
		tell(s, report)
	}
}

// terminate enters the stage in which nothing starts any more (B-WRK-4), and gives up
// pulls and mounts under way.
func terminate(s *step, why stop, grace time.Duration, report Report) {
	s.kept.Stage = Terminating
	why.Deadline = s.now.Add(grace)
	if !s.stop.Deadline.IsZero() { // containers of a lost sandbox are already stopping: never later (B-WRK-9)
		why.Deadline = earlier(why.Deadline, s.stop.Deadline)
	}
	report.Subject = "pod"
	tell(s, report)
	s.stop = why
	s.restartAll.Active, s.restartAll.announce = false, false // deletion wins (B-RAC-25)
	for f := range s.fetches {
		if f.op != 0 {
			s.do(Cancel{ID: f.op})
			f.op = 0
		}
	}
	for _, op := range []EffectID{s.setup.volumes.op, s.claims.prepared.op, s.refresh.op} {
		if op != 0 {
			s.do(Cancel{ID: op})
		}
	}
}

// awaitSandbox waits for a sandbox that is being created, to stop it in good order. It
// gives up only after the deadline, because a runtime goes on with a cancelled call.
func awaitSandbox(s *step) {
	if !s.stop.GaveUp && s.due(s.sandboxPatience()) {
		s.stop.GaveUp = true
		s.do(Cancel{ID: s.sandbox.op})
	}
}

// sandboxPatience is how long the end of a pod waits for a sandbox that is being created.
func (m *Machine) sandboxPatience() time.Time {
	return m.stop.Deadline.Add(minimumStopSeconds * time.Second)
}

// planTermination stops the containers, then the sandbox (B-TRM-1), and then gives back
// the claims. The order matters: devices and addresses are free only afterwards.
func planTermination(s *step) {
	planOverdue(s)
	settingUp := s.setup.cgroup.op != 0 || s.setup.volumes.op != 0 || s.claims.prepared.op != 0
	if settingUp || !stopContainers(s) && !onlySandboxStops(s) {
		return
	}
	if s.sandbox.State == sandboxReady || s.sandbox.State == sandboxLost {
		stopSandbox(s) // which is done at once if nobody knows its ID
	}
	switch s.sandbox.State {
	case sandboxCreating:
		awaitSandbox(s)
	case sandboxNone, sandboxStopped:
		if claimsReleased(s) {
			s.kept.Stage = Terminated
		}
	}
}

// untrueStops is how often a runtime may report a container as stopped and still show it
// running before the sandbox is stopped with it. A runtime that could not write an exit,
// because its disk is full, would show it running for ever.
const untrueStops = 2

// onlySandboxStops says whether the deadline has passed and only the stop of the sandbox,
// with everything in it, can end what is left.
func onlySandboxStops(s *step) bool {
	for _, c := range s.containers {
		if c.mayRun() && (c.Position != running || c.stopping.untrue < untrueStops) {
			return false
		}
	}
	return s.due(s.stop.Deadline)
}

// endWithSandbox files that containers which the runtime still shows running have ended
// with their sandbox.
func endWithSandbox(s *step) {
	for _, c := range s.containers {
		if c.Position == running {
			settleExit(s, c, unaccounted())
		}
	}
}

// stopContainers stops what runs: regular, init and ephemeral containers at once
// (B-SIG-6), then sidecars in reverse order (B-SIDE-2), and everything once the deadline
// has passed (B-SIDE-3). It reports whether nothing can run any more.
func stopContainers(s *step) bool {
	blocked := false
	for _, c := range s.regulars() {
		stopOne(s, c, true)
		blocked = blocked || c.mayRun()
	}
	for _, c := range s.ephemerals() {
		if !s.restartAll.Active || s.sandbox.State != sandboxReady { // a restart of all leaves them alone (B-RAC-8)
			stopOne(s, c, true)
		}
	}
	for _, c := range slices.Backward(s.inits()) {
		if c.kind == initContainer { // neither waits nor is waited for
			stopOne(s, c, true)
			continue
		}
		stopOne(s, c, !blocked)
		blocked = blocked || c.mayRun()
	}
	return !anyMayRun(s.Machine)
}

func anyMayRun(m *Machine) bool {
	for _, c := range m.containers {
		if c.mayRun() {
			return true
		}
	}
	return false
}

// planRelease gives back volumes and then the cgroup (B-FIN-6). In parallel it removes
// the sandbox's record, for which nobody waits, as in Kubernetes, which removes it later
// (B-GC-4). The machine's life ends when the runtime has nothing of the pod left. If the
// pod ended by itself, records and logs may have to stay until somebody asks for its end.
func planRelease(s *step) {
	keep, records := s.keepsRecords(), s.keepsFiles()
	if s.release.kept && !records && s.release.volumes.op == 0 {
		s.release.volumes, s.release.kept = work{}, false // the logs go now
	}
	if s.refresh.op == 0 { // what is still being written is not removed
		if id, ok := s.begin(&s.release.volumes); ok {
			s.release.kept = records
			s.do(UnmountVolumes{ID: id, KeepLogs: records})
		}
	}
	nothingLeft := !records && releaseSandbox(s)
	if !records && s.kept.StraySandbox || !s.release.volumes.done || s.release.kept && !records {
		return // a stray sandbox may hold an address and be at work in the cgroup
	}
	if id, ok := s.begin(&s.release.cgroup); ok {
		s.do(RemoveCgroup{ID: id})
	}
	if !s.release.cgroup.done || keep {
		return
	}
	if !s.release.deleted {
		s.release.deleted = true
		s.do(DeleteObject{})
	}
	if nothingLeft {
		s.kept.Stage = Gone
	}
}

// releaseSandbox removes the sandbox with all records in it; it reports whether
// the runtime has nothing of the pod any more.
func releaseSandbox(s *step) bool {
	if s.sandbox.ID == "" {
		s.release.sandbox.done = true
	}
	if id, ok := s.begin(&s.release.sandbox); ok {
		s.do(RemoveSandbox{ID: id, SandboxID: s.sandbox.ID})
	}
	if s.release.sandbox.done && s.release.volumes.done && s.kept.StraySandbox {
		observe(s)
	}
	return s.release.sandbox.done && !s.kept.StraySandbox
}

// keepsRecords says that the pod has ended by itself and stays, with its containers and
// logs unless it clears them, until somebody asks for its end (B-FIN-11).
func (m *Machine) keepsRecords() bool { return m.options.KeepRecords && !m.kept.Deleted }

// Resting says whether the pod has ended, what is kept of it waits for its object to go,
// and nothing else can happen to it.
func (m *Machine) Resting() bool {
	cleared := !m.clears() || m.release.sandbox.done && !m.kept.StraySandbox
	return m.kept.Stage == Terminated && m.keepsRecords() && m.release.volumes.done && m.release.cgroup.done && cleared
}
