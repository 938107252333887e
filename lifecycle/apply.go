package lifecycle

import (
	"cmp"
	"fmt"
	"time"
)

// apply files a fact in the state and does what follows from that fact alone, whatever
// the rest of the state: it records the Events, reports failures, judges an exit once
// (settleExit), and ends a pod that must end (terminate). What depends on the whole state
// is plan's part.
func apply(s *step, fact Fact) {
	switch f := fact.(type) {
	case Accepted:
		applyAccepted(s)
	case Rejected:
		applyRejected(s, f)
	case Resumed:
		applyResumed(s)
	case StopRequested:
		applyStopRequested(s, f)
	case EphemeralContainerAdded:
		applyEphemeralContainerAdded(s, f)
	case ResizeRequested:
		applyResizeRequested(s, f)
	case Woke:
		s.wakeAt = time.Time{} // the timer has fired
	case ClockChanged: // hearOfClock has filed it
	case CgroupEnsured:
		applySetup(s, &s.setup.cgroup, f.Result, "FailedCreatePodContainer", "unable to ensure pod container exists: ")
	case VolumesMounted:
		applyVolumesMounted(s, f)
	case SandboxCreated:
		applySandboxCreated(s, f)
	case SandboxStopped:
		applySandboxStopped(s, f)
	case SandboxExited:
		applySandboxExited(s, f.SandboxID)
	case StorageMeasured:
		applyStorageMeasured(s, f)
	case ObjectsChanged:
		applyObjectsChanged(s, f)
	case PodUpdated:
		applyPodUpdated(s, f)
	case EvictionRequested:
		applyEvictionRequested(s, f)
	case VolumesRefreshed:
		applyVolumesRefreshed(s, f)
	case Observed:
		applyObserved(s, f)
	case ConditionSet:
		applyConditionSet(s, f)
	case RestartRequested:
		applyRestartRequested(s, f)
	case Published:
		applyPublished(s, f)
	case VolumesUnmounted:
		applyRelease(s, &s.release.volumes, f.Result, "unmount volumes")
	case SandboxRemoved:
		applyRelease(s, &s.release.sandbox, f.Result, "remove sandbox")
	case CgroupRemoved:
		applyRelease(s, &s.release.cgroup, f.Result, "remove cgroup")
	default:
		applyContainerFact(s, fact)
	}
}

// applyContainerFact is apply's second half: images and containers.
func applyContainerFact(s *step, fact Fact) {
	switch f := fact.(type) {
	case ImageInspected:
		applyImageInspected(s, f)
	case ImagePulled:
		applyImagePulled(s, f)
	case ContainerCreated:
		applyContainerCreated(s, f)
	case ContainerStarted:
		applyContainerStarted(s, f)
	case ContainerRunning:
		applyContainerRunning(s, f)
	case ContainerExited:
		applyContainerExited(s, f)
	case ContainerStopped:
		applyContainerStopped(s, f)
	case Probed:
		applyProbed(s, f)
	case HookEnded:
		applyHookEnded(s, f)
	case ResizeAdmitted:
		applyResizeAdmitted(s, f)
	case MemoryMeasured:
		applyMemoryMeasured(s, f)
	case CgroupResized:
		applyCgroupResized(s, f)
	case ContainerResized:
		applyContainerResized(s, f)
	case ContainerRemoved:
		applyContainerRemoved(s, f)
	default:
		applyNodeFact(s, fact)
	}
}

// applyNodeFact is apply's last part: what the node has, or needs, and its drivers.
func applyNodeFact(s *step, fact Fact) {
	switch f := fact.(type) {
	case ClaimsPrepared:
		applyClaimsPrepared(s, f)
	case ClaimsUnprepared:
		applyClaimsUnprepared(s, f)
	case VolumesFound:
		s.setup.found = f.ID
	case RoomFreed:
		applyRoomFreed(s)
	case SpaceNeeded:
		applySpaceNeeded(s)
	case DriverRegistered:
		retryDrivers(s)
	case DevicesChanged:
		applyDevicesChanged(s, f)
	case GroupSeen:
		applyGroupSeen(s, f)
	default:
		panic(fmt.Sprintf("lifecycle: no way to file %T", fact))
	}
}

// applyAccepted begins the pod's life, unless its annotations ask for a group that there is
// none of (B-GRP-11), or say what no node has reported (B-GRP-23).
func applyAccepted(s *step) {
	if wrong := cmp.Or(s.asks.wrong, forgedAnnotation(s.pod)); wrong != "" {
		applyRejected(s, Rejected{Reason: reasonInvalidGroup, Message: wrong})
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
	r := Result{ID: e.EffectID(), Failure: f}
	switch e.(type) {
	case EnsureCgroup:
		return CgroupEnsured{Result: r}
	case MountVolumes:
		return VolumesMounted{Result: r}
	case RefreshVolumes:
		return VolumesRefreshed{Result: r}
	case MeasureStorage:
		return StorageMeasured{Result: r}
	case UnmountVolumes:
		return VolumesUnmounted{Result: r}
	case RemoveCgroup:
		return CgroupRemoved{Result: r}
	case PrepareClaims:
		return ClaimsPrepared{Result: r}
	case UnprepareClaims:
		return ClaimsUnprepared{Result: r}
	case Publish:
		return Published{Result: r}
	}
	return answerOfRuntime(e, r)
}

// answerOfRuntime is AnswerTo for what the runtime has of the pod.
func answerOfRuntime(e Effect, r Result) Fact {
	switch e.(type) {
	case CreateSandbox:
		return SandboxCreated{Result: r}
	case StopSandbox:
		return SandboxStopped{Result: r}
	case RemoveSandbox:
		return SandboxRemoved{Result: r}
	case InspectImage:
		return ImageInspected{Result: r}
	case PullImage:
		return ImagePulled{Result: r}
	case CreateContainer:
		return ContainerCreated{Result: r}
	case StartContainer:
		return ContainerStarted{Result: r}
	case StopContainer:
		return ContainerStopped{Result: r}
	case RemoveContainer:
		return ContainerRemoved{Result: r}
	case Observe:
		return Observed{Result: r}
	}
	return answerOfContainer(e, r)
}

// answerOfContainer is AnswerTo for what is done to containers that run.
func answerOfContainer(e Effect, r Result) Fact {
	switch e.(type) {
	case Probe:
		return Probed{Result: r}
	case RunHook:
		return HookEnded{Result: r}
	case AdmitResize:
		return ResizeAdmitted{Result: r}
	case MeasureMemory:
		return MemoryMeasured{Result: r}
	case ResizeCgroup:
		return CgroupResized{Result: r}
	case ResizeContainer:
		return ContainerResized{Result: r}
	}
	panic(fmt.Sprintf("lifecycle: %T is not answered", e))
}
