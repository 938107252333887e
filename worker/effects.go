package worker

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/cri"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/worker/command"
	"github.com/lifepod/lifepod/worker/probe"
	"github.com/lifepod/lifepod/worker/volumes"
)

// executor carries out the effects of one pod. Its methods may run at the same
// time; what one leaves for another is written before the machine can ask for
// the other.
type executor struct {
	*Node
	pod *v1.Pod // as it was when the effect was asked for; never changed, only replaced
	*results
	commands *command.Runner
}

// results are what one effect leaves for another.
type results struct {
	mounted volumes.Mounted              // by mountVolumes, for createContainer
	sandbox *runtimeapi.PodSandboxConfig // by createSandbox, for createContainer; nil if another lifepod created it
	attempt uint32                       // of the sandbox that another lifepod created
	created runningReports               // by events, for startContainer
}

// of is the same executor for a changed pod.
func (h *executor) of(pod *v1.Pod) *executor {
	return &executor{Node: h.Node, pod: pod, results: h.results, commands: h.commands}
}

// do carries out one effect and returns its answer.
func (h *executor) do(ctx context.Context, effect lifecycle.Effect) lifecycle.Fact {
	switch e := effect.(type) {
	case lifecycle.EnsureCgroup:
		return lifecycle.CgroupEnsured{Result: result(ctx, e.ID, h.ensureCgroup(e))}
	case lifecycle.MountVolumes:
		return h.mountVolumes(ctx, e)
	case lifecycle.RefreshVolumes:
		return h.refreshVolumes(ctx, e)
	case lifecycle.MeasureStorage:
		return h.measureStorage(ctx, e)
	case lifecycle.UnmountVolumes:
		return lifecycle.VolumesUnmounted{Result: result(ctx, e.ID, h.unmountVolumes(e.KeepLogs))}
	case lifecycle.RemoveCgroup:
		return lifecycle.CgroupRemoved{Result: result(ctx, e.ID, h.leaveNode(ctx))}
	case lifecycle.CreateSandbox:
		return h.createSandbox(ctx, e)
	case lifecycle.InspectImage:
		return h.inspectImage(ctx, e)
	case lifecycle.PullImage:
		return h.pullImage(ctx, e)
	case lifecycle.CreateContainer:
		return h.createContainer(ctx, e)
	case lifecycle.Probe:
		return h.probe(ctx, e)
	case lifecycle.RunHook:
		return h.runHook(ctx, e)
	case lifecycle.AdmitResize:
		return h.admitResize(e)
	case lifecycle.MeasureMemory:
		return h.measureMemory(ctx, e)
	case lifecycle.ResizeCgroup:
		return h.resizeCgroup(ctx, e)
	case lifecycle.ResizeContainer:
		return h.resizeContainer(ctx, e)
	case lifecycle.Observe:
		return h.observe(ctx, e)
	}
	return h.doCall(ctx, effect)
}

// doCall carries out the effects that are one call of the runtime.
func (h *executor) doCall(ctx context.Context, effect lifecycle.Effect) lifecycle.Fact {
	switch e := effect.(type) {
	case lifecycle.StartContainer:
		_, err := h.Runtime.StartContainer(ctx, &runtimeapi.StartContainerRequest{ContainerId: e.ContainerID})
		return lifecycle.ContainerStarted{Result: result(ctx, e.ID, err), Reported: h.saidOf(ctx, e.ContainerID, err)}
	case lifecycle.StopContainer:
		_, err := h.Runtime.StopContainer(ctx, &runtimeapi.StopContainerRequest{ContainerId: e.ContainerID, Timeout: e.TimeoutSeconds})
		return lifecycle.ContainerStopped{Result: result(ctx, e.ID, err)}
	case lifecycle.RemoveContainer:
		_, err := h.Runtime.RemoveContainer(ctx, &runtimeapi.RemoveContainerRequest{ContainerId: e.ContainerID})
		if err == nil {
			h.removeFiles(e)
		}
		return lifecycle.ContainerRemoved{Result: result(ctx, e.ID, err)}
	case lifecycle.StopSandbox:
		_, err := h.Runtime.StopPodSandbox(ctx, &runtimeapi.StopPodSandboxRequest{PodSandboxId: e.SandboxID})
		return lifecycle.SandboxStopped{Result: result(ctx, e.ID, err)}
	case lifecycle.RemoveSandbox:
		_, err := h.Runtime.RemovePodSandbox(ctx, &runtimeapi.RemovePodSandboxRequest{PodSandboxId: e.SandboxID})
		return lifecycle.SandboxRemoved{Result: result(ctx, e.ID, err)}
	}
	panic(fmt.Sprintf("worker: no way to carry out %T", effect))
}

func result(ctx context.Context, id lifecycle.EffectID, err error) lifecycle.Result {
	return lifecycle.Result{ID: id, Failure: cri.FailureOf(ctx, err)}
}

func (h *executor) observe(ctx context.Context, e lifecycle.Observe) lifecycle.Fact {
	o, err := cri.Observe(ctx, h.Runtime, string(h.pod.UID), h.describe())
	o.Result = result(ctx, e.ID, err)
	return o
}

// deadline is how long an effect may take.
func (h *executor) deadline(effect lifecycle.Effect) time.Duration {
	switch e := effect.(type) {
	case lifecycle.CreateSandbox:
		return h.Timeouts.Sandbox
	case lifecycle.PullImage:
		return h.Timeouts.Pull
	case lifecycle.StopContainer:
		return h.Timeouts.Call + time.Duration(e.TimeoutSeconds)*time.Second
	case lifecycle.Probe:
		return h.Timeouts.Call + probe.Timeout(probeSpec(containerSpec(h.pod, e.Container), e.Kind))
	case lifecycle.RunHook: // it keeps its own
		return 365 * 24 * time.Hour
	case lifecycle.Observe:
		if e.ID == 0 { // the next one would be due
			return h.Timeouts.Relist
		}
	}
	return h.Timeouts.Call
}
