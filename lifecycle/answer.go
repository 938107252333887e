package lifecycle

import "fmt"

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
