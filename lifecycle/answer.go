package lifecycle

import "fmt"

// AnswerTo is the answer to an effect of which nothing more is known than its result: a
// failure, or the success of work that gives nothing back.
func AnswerTo(e Effect, f *Failure) Fact {
	r := Result{ID: e.EffectID(), Failure: f}
	switch e.(type) {
	case EnsureCgroup:
		return CgroupEnsured{r}
	case MountVolumes:
		return VolumesMounted{r}
	case RefreshVolumes:
		return VolumesRefreshed{r}
	case MeasureStorage:
		return StorageMeasured{Result: r}
	case PrepareClaims:
		return ClaimsPrepared{r}
	case UnprepareClaims:
		return ClaimsUnprepared{r}
	case UnmountVolumes:
		return VolumesUnmounted{r}
	case RemoveCgroup:
		return CgroupRemoved{r}
	case InspectImage:
		return ImageInspected{Result: r}
	case PullImage:
		return ImagePulled{Result: r}
	case Observe:
		return Observed{Result: r}
	case AdmitResize:
		return ResizeAdmitted{Result: r}
	case MeasureMemory:
		return MemoryMeasured{Result: r}
	case ResizeCgroup:
		return CgroupResized{r}
	case Publish:
		return Published{r}
	}
	return answerOfRuntime(e, r)
}

// answerOfRuntime is AnswerTo for what is done to sandboxes and containers.
func answerOfRuntime(e Effect, r Result) Fact {
	switch e.(type) {
	case CreateSandbox:
		return SandboxCreated{Result: r}
	case StopSandbox:
		return SandboxStopped{r}
	case RemoveSandbox:
		return SandboxRemoved{r}
	case CreateContainer:
		return ContainerCreated{Result: r}
	case StartContainer:
		return ContainerStarted{Result: r}
	case StopContainer:
		return ContainerStopped{r}
	case RemoveContainer:
		return ContainerRemoved{r}
	case ResizeContainer:
		return ContainerResized{Result: r}
	case Probe:
		return Probed{Result: r}
	case RunHook:
		return HookEnded{Result: r}
	}
	panic(fmt.Sprintf("lifecycle: %T is not answered", e))
}
