package worker

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/cri"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/worker/handler"
	"github.com/lifepod/lifepod/worker/volumes"
)

// executor carries out the effects of one pod. Its methods may run at the same
// time; what one leaves for another is written before the machine can ask for
// the other.
type executor struct {
	engine *Engine
	pod    *v1.Pod // as it was when the effect was asked for; never changed, only replaced
	*results
	commands *handler.Runner
	// post is for what is known before an effect is answered: a lifecycle.Fact, or nowMoved.
	post func(any)
}

// results are what one effect leaves for another.
type results struct {
	mounted volumes.Mounted // by mountVolumes, for createContainer
	// groups are those that the volumes name, by mountVolumes as soon as it has found them, for
	// createSandbox; nil: not known.
	groups atomic.Pointer[[]int64]
	// unmounted: the volumes were taken away, and that was counted; for unmountVolumes only.
	unmounted bool
	sandbox   *runtimeapi.PodSandboxConfig // by createSandbox, for createContainer; nil if another lifepod created it
	attempt   uint32                       // of the sandbox that another lifepod created
	// created is what events report about created containers, by ID, for startContainer: so the first status of a
	// running container is complete. Of *lifecycle.ContainerRunning.
	created sync.Map
	pulls   pulls     // by pullImage, for the journal
	held    heldHooks // by runHook, for the journal
}

// of is the same executor for a changed pod.
func (h *executor) of(pod *v1.Pod) *executor {
	return &executor{engine: h.engine, pod: pod, results: h.results, commands: h.commands, post: h.post}
}

// row says of one type of effect how it is carried out.
type row struct {
	effect   reflect.Type
	carryOut func(*executor, context.Context, lifecycle.Effect) lifecycle.Fact
}

// rows has a row for each effect that is answered.
var rows = byEffect(
	on((*executor).ensureCgroup),
	on((*executor).mountVolumes),
	on((*executor).refreshVolumes),
	on((*executor).measureStorage),
	on((*executor).unmountVolumes),
	on((*executor).removeCgroup),
	on((*executor).prepareClaims),
	on((*executor).unprepareClaims),
	on((*executor).createSandbox),
	on((*executor).stopSandbox),
	on((*executor).removeSandbox),
	on((*executor).inspectImage),
	on((*executor).pullImage),
	on((*executor).createContainer),
	on((*executor).startContainer),
	on((*executor).stopContainer),
	on((*executor).removeContainer),
	on((*executor).probe),
	on((*executor).runHook),
	on((*executor).admitResize),
	on((*executor).measureMemory),
	on((*executor).resizeCgroup),
	on((*executor).resizeContainer),
	on((*executor).observe),
)

func on[E lifecycle.Effect](carryOut func(*executor, context.Context, E) lifecycle.Fact) row {
	return row{
		effect: reflect.TypeFor[E](),
		carryOut: func(h *executor, ctx context.Context, e lifecycle.Effect) lifecycle.Fact {
			return carryOut(h, ctx, e.(E))
		},
	}
}

func byEffect(list ...row) map[reflect.Type]row {
	by := map[reflect.Type]row{}
	for _, r := range list {
		by[r.effect] = r
	}
	return by
}

func rowOf(effect lifecycle.Effect) row {
	r, found := rows[reflect.TypeOf(effect)]
	if !found {
		panic(fmt.Sprintf("worker: no way to carry out %T", effect))
	}
	return r
}

// deadline is how long an effect may take.
func (h *executor) deadline(effect lifecycle.Effect) time.Duration {
	if e, is := effect.(lifecycle.Probe); is {
		return h.probeDeadline(e)
	}
	return h.engine.Timeouts.Of(effect)
}

func (h *executor) startContainer(ctx context.Context, e lifecycle.StartContainer) lifecycle.Fact {
	defer h.engine.Cgroups.Expect()()
	_, err := h.engine.Runtime.StartContainer(ctx, &runtimeapi.StartContainerRequest{ContainerId: e.ContainerID})
	return lifecycle.ContainerStarted{Result: result(ctx, e.ID, err), Reported: h.reportedOf(ctx, e.ContainerID, err)}
}

func (h *executor) stopContainer(ctx context.Context, e lifecycle.StopContainer) lifecycle.Fact {
	_, err := h.engine.Runtime.StopContainer(ctx, &runtimeapi.StopContainerRequest{ContainerId: e.ContainerID, Timeout: e.TimeoutSeconds})
	return lifecycle.ContainerStopped{Result: result(ctx, e.ID, err)}
}

func (h *executor) removeContainer(ctx context.Context, e lifecycle.RemoveContainer) lifecycle.Fact {
	_, err := h.engine.Runtime.RemoveContainer(ctx, &runtimeapi.RemoveContainerRequest{ContainerId: e.ContainerID})
	if err == nil {
		h.removeFiles(e)
	}
	return lifecycle.ContainerRemoved{Result: result(ctx, e.ID, err)}
}

func (h *executor) stopSandbox(ctx context.Context, e lifecycle.StopSandbox) lifecycle.Fact {
	_, err := h.engine.Runtime.StopPodSandbox(ctx, &runtimeapi.StopPodSandboxRequest{PodSandboxId: e.SandboxID})
	return lifecycle.SandboxStopped{Result: result(ctx, e.ID, err)}
}

func (h *executor) removeSandbox(ctx context.Context, e lifecycle.RemoveSandbox) lifecycle.Fact {
	_, err := h.engine.Runtime.RemovePodSandbox(ctx, &runtimeapi.RemovePodSandboxRequest{PodSandboxId: e.SandboxID})
	return lifecycle.SandboxRemoved{Result: result(ctx, e.ID, err)}
}

func (h *executor) observe(ctx context.Context, e lifecycle.Observe) lifecycle.Fact {
	o, err := cri.Observe(ctx, h.engine.Runtime, string(h.pod.UID), h.describe())
	o.Result = result(ctx, e.ID, err)
	return o
}

func result(ctx context.Context, id lifecycle.EffectID, err error) lifecycle.Result {
	return lifecycle.Result{ID: id, Failure: cri.FailureOf(ctx, err)}
}

// statusFirst puts a step's status, which the step derives last, before its Kubernetes Events: an event does not come
// before the status that it explains (A-EVT-7).
func statusFirst(effects []lifecycle.Effect) []lifecycle.Effect {
	event := slices.IndexFunc(effects, is[lifecycle.RecordEvent])
	status := slices.IndexFunc(effects, is[lifecycle.Publish])
	if event < 0 || status < event {
		return effects
	}
	publish := effects[status]
	return slices.Insert(slices.Delete(effects, status, status+1), event, publish)
}

func is[T lifecycle.Effect](e lifecycle.Effect) bool {
	_, is := e.(T)
	return is
}
