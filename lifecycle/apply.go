package lifecycle

import (
	"cmp"
	"time"
)

func (Woke) apply(s *step)           { s.wakeAt = time.Time{} } // the timer has fired
func (ClockChanged) apply(*step)     {}                         // hearOfClock has filed it
func (f VolumesFound) apply(s *step) { s.setup.found = f.ID }
func (f GroupSeen) apply(s *step)    { applyGroupSeen(s, f) }
func (f CgroupEnsured) apply(s *step) {
	applySetup(s, &s.setup.cgroup, f.Result, "FailedCreatePodContainer", "unable to ensure pod container exists: ")
}

func (f VolumesUnmounted) apply(s *step) {
	applyRelease(s, &s.release.volumes, f.Result, "unmount volumes")
}
func (f SandboxRemoved) apply(s *step) {
	applyRelease(s, &s.release.sandbox, f.Result, "remove sandbox")
}
func (f CgroupRemoved) apply(s *step) { applyRelease(s, &s.release.cgroup, f.Result, "remove cgroup") }

// apply begins the pod's life, unless its annotations ask for a group that there is
// none of (B-GRP-11), or say what no node has reported (B-GRP-23).
func (Accepted) apply(s *step) {
	if wrong := cmp.Or(s.asks.wrong, forgedAnnotation(s.pod)); wrong != "" {
		Rejected{Reason: reasonInvalidGroup, Message: wrong}.apply(s)
		return
	}
	if s.kept.StartTime.IsZero() {
		s.kept.StartTime = s.wall
	}
}

// applySetup files the answer of a step that precedes the containers. A failure is
// reported, and the step is retried (A-SYNC-7, A-SYNC-8).
func applySetup(s *step, w *work, r Result, reason, prefix string) {
	if !s.finish(w, r) || r.Failure == nil || r.Failure.Class == Cancelled || s.kept.Stage != Syncing {
		return // a pod that is ending does not need it any more (B-FIN-12)
	}
	for _, message := range r.Failure.messages() {
		s.do(RecordEvent{Type: warning, Reason: reasonOf(reason, message), Message: prefix + message})
	}
	tellBlocked(s, Report{Subject: ofPod, Kind: KindSetupFailed, Message: r.Failure.Message, Rule: "A-SYNC-9"}, r.Failure, w.retryAt)
}

func applyRelease(s *step, w *work, r Result, what string) {
	if !s.finish(w, r) || r.Failure == nil {
		return
	}
	if r.Failure.Class == NotFound {
		w.done = true
		return
	}
	tellRetry(s, Report{Subject: ofPod, Kind: "release-failed", On: what, Message: r.Failure.Message, Rule: "B-FIN-6"}, w.retryAt)
}

// Event types (A-EVT).
const (
	normal  = "Normal"
	warning = "Warning"
)

// AnswerTo is the answer to an effect of which nothing more is known than its result: a
// failure, or the success of work that gives nothing back.
func AnswerTo(e Effect, f *Failure) Fact {
	return e.(interface{ answer(Result) Fact }).answer(Result{ID: e.EffectID(), Failure: f})
}

func (EnsureCgroup) answer(r Result) Fact    { return CgroupEnsured{Result: r} }
func (MountVolumes) answer(r Result) Fact    { return VolumesMounted{Result: r} }
func (RefreshVolumes) answer(r Result) Fact  { return VolumesRefreshed{Result: r} }
func (MeasureStorage) answer(r Result) Fact  { return StorageMeasured{Result: r} }
func (UnmountVolumes) answer(r Result) Fact  { return VolumesUnmounted{Result: r} }
func (RemoveCgroup) answer(r Result) Fact    { return CgroupRemoved{Result: r} }
func (PrepareClaims) answer(r Result) Fact   { return ClaimsPrepared{Result: r} }
func (UnprepareClaims) answer(r Result) Fact { return ClaimsUnprepared{Result: r} }
func (Publish) answer(r Result) Fact         { return Published{Result: r} }
func (CreateSandbox) answer(r Result) Fact   { return SandboxCreated{Result: r} }
func (StopSandbox) answer(r Result) Fact     { return SandboxStopped{Result: r} }
func (RemoveSandbox) answer(r Result) Fact   { return SandboxRemoved{Result: r} }
func (InspectImage) answer(r Result) Fact    { return ImageInspected{Result: r} }
func (PullImage) answer(r Result) Fact       { return ImagePulled{Result: r} }
func (CreateContainer) answer(r Result) Fact { return ContainerCreated{Result: r} }
func (StartContainer) answer(r Result) Fact  { return ContainerStarted{Result: r} }
func (StopContainer) answer(r Result) Fact   { return ContainerStopped{Result: r} }
func (RemoveContainer) answer(r Result) Fact { return ContainerRemoved{Result: r} }
func (Observe) answer(r Result) Fact         { return Observed{Result: r} }
func (Probe) answer(r Result) Fact           { return Probed{Result: r} }
func (RunHook) answer(r Result) Fact         { return HookEnded{Result: r} }
func (AdmitResize) answer(r Result) Fact     { return ResizeAdmitted{Result: r} }
func (MeasureMemory) answer(r Result) Fact   { return MemoryMeasured{Result: r} }
func (ResizeCgroup) answer(r Result) Fact    { return CgroupResized{Result: r} }
func (ResizeContainer) answer(r Result) Fact { return ContainerResized{Result: r} }
