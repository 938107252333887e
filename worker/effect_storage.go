package worker

import (
	"context"
	"path/filepath"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/cri"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/worker/volumes"
)

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
