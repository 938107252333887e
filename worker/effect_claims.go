package worker

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/cri"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/worker/volumes"
)

// Claims has drivers prepare the devices of pods' resource claims (package node/devices).
type Claims interface {
	Prepare(ctx context.Context, pod *v1.Pod) error
	Unprepare(ctx context.Context, pod types.UID) error
}

// errNoClaims is for a pod that was accepted by an agent of a cluster.
var errNoClaims = errors.New("resource claims need an API server")

func (h *executor) prepareClaims(ctx context.Context, e lifecycle.PrepareClaims) lifecycle.Fact {
	err := errNoClaims
	if h.engine.API.Claims != nil {
		err = h.engine.API.Claims.Prepare(ctx, h.pod)
	}
	return lifecycle.ClaimsPrepared{Result: ofDrivers(ctx, e.ID, err)}
}

func (h *executor) unprepareClaims(ctx context.Context, e lifecycle.UnprepareClaims) lifecycle.Fact {
	var err error // without an API server nothing was prepared
	if h.engine.API.Claims != nil {
		err = h.engine.API.Claims.Unprepare(ctx, h.pod.UID)
	}
	return lifecycle.ClaimsUnprepared{Result: ofDrivers(ctx, e.ID, err)}
}

// ofDrivers is the result of calls of drivers. What a driver has done of a call without an
// answer need not be found out: the call can be repeated. So it has failed like one that
// was refused, unless nobody waits for it any more.
func ofDrivers(ctx context.Context, id lifecycle.EffectID, err error) lifecycle.Result {
	r := lifecycle.Result{ID: id}
	if err == nil {
		return r
	}
	r.Failure = &lifecycle.Failure{Message: err.Error()}
	if errors.Is(context.Cause(ctx), context.Canceled) {
		r.Failure.Class = lifecycle.Cancelled
	}
	return r
}

// measureStorage adds up what the pod's volumes, logs and writable layers use (B-LST-1).
func (h *executor) measureStorage(ctx context.Context, e lifecycle.MeasureStorage) lifecycle.Fact {
	began := time.Now()
	fact := lifecycle.StorageMeasured{}
	var err error
	for _, name := range e.Volumes {
		path, made := h.mounted.Path(name)
		if !made {
			continue // no container uses it
		}
		var bytes int64
		if bytes, err = volumes.Usage(ctx, path); err != nil {
			break
		}
		fact.Volumes = append(fact.Volumes, lifecycle.StorageUsage{Name: name, Bytes: bytes})
	}
	if err == nil && e.Containers {
		fact.Containers, err = h.containerUsage(ctx)
	}
	fact.Result, fact.Took = result(ctx, e.ID, err), time.Since(began)
	return fact
}

// containerUsage is what each container's logs and writable layer use.
func (h *executor) containerUsage(ctx context.Context) ([]lifecycle.StorageUsage, error) {
	stats, err := h.engine.Runtime.ListContainerStats(ctx, &runtimeapi.ListContainerStatsRequest{
		Filter: &runtimeapi.ContainerStatsFilter{LabelSelector: map[string]string{cri.PodUIDLabel: string(h.pod.UID)}},
	})
	if err != nil {
		return nil, err
	}
	layers := map[string]int64{}
	for _, s := range stats.GetStats() {
		layers[s.GetAttributes().GetMetadata().GetName()] = int64(s.GetWritableLayer().GetUsedBytes().GetValue())
	}
	var list []lifecycle.StorageUsage
	for _, c := range lifecycle.AllContainers(h.pod) {
		logs, err := volumes.Usage(ctx, filepath.Join(h.engine.Config.PodLogDirectory(h.pod), c.Name))
		if err != nil {
			return nil, err
		}
		list = append(list, lifecycle.StorageUsage{Name: c.Name, Bytes: logs + layers[c.Name]})
	}
	return list, nil
}
