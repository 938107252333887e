package stats

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifepod/lifepod/cri"
)

// SummaryHandler answers /stats/summary.
func (s *Stats) SummaryHandler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ask := s.Summary
		if r.FormValue("only_cpu_and_memory") == "true" {
			ask = s.CPUAndMemory
		}
		summary, err := ask(r.Context())
		if err != nil {
			s.Log.Warn("can't measure the resource usage of pods", "err", err)
			http.Error(w, fmt.Sprintf("Internal Error: %v", err), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", " ")
		_ = encoder.Encode(summary) // who asked may have gone
	})
}

// Summary is all that is known.
func (s *Stats) Summary(ctx context.Context) (*statsapi.Summary, error) {
	sandboxes, err := s.running(ctx)
	if err != nil {
		return nil, err
	}
	node, err := s.nodeUsage()
	if err != nil {
		return nil, err
	}
	node.StartTime = metav1.NewTime(s.boot)
	if node.Network, err = network(); err != nil {
		return nil, err
	}
	if node.Fs, err = fileSystem(s.Pods.Dir); err != nil {
		return nil, err
	}
	if node.Runtime, err = s.imageFileSystems(ctx); err != nil {
		return nil, err
	}
	if node.Rlimit, err = processLimits(); err != nil {
		return nil, err
	}
	list := s.podUsages(sandboxes)
	s.addStorage(ctx, list, sandboxes, node.Fs)
	return &statsapi.Summary{Node: node, Pods: list}, nil
}

// CPUAndMemory is what is cheap.
func (s *Stats) CPUAndMemory(ctx context.Context) (*statsapi.Summary, error) {
	sandboxes, err := s.running(ctx)
	if err != nil {
		return nil, err
	}
	node, err := s.nodeUsage()
	if err != nil {
		return nil, err
	}
	node.StartTime = metav1.NewTime(s.boot)
	node.IO = nil
	list := s.podUsages(sandboxes)
	for i := range list {
		list[i].Network, list[i].ProcessStats, list[i].IO = nil, nil, nil
		for j := range list[i].Containers {
			list[i].Containers[j].IO = nil
		}
	}
	return &statsapi.Summary{Node: node, Pods: list}, nil
}

// imageFileSystems are those of images and of writable layers.
func (s *Stats) imageFileSystems(ctx context.Context) (*statsapi.RuntimeStats, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	answer, err := s.Images.ImageFsInfo(ctx, &runtimeapi.ImageFsInfoRequest{})
	if err != nil {
		return nil, fmt.Errorf("ask the runtime what images use: %s", cri.Text(err))
	}
	if len(answer.ImageFilesystems) == 0 {
		return nil, fmt.Errorf("ask the runtime what images use: it names no file system")
	}
	images := s.usedOf(answer.ImageFilesystems[0])
	layers := images
	if len(answer.ContainerFilesystems) > 0 {
		layers = s.usedOf(answer.ContainerFilesystems[0])
	}
	return &statsapi.RuntimeStats{ImageFs: images, ContainerFs: layers}, nil
}

// usedOf is what a part of the runtime uses of its file system, and that one's
// state if it can be seen from here.
func (s *Stats) usedOf(used *runtimeapi.FilesystemUsage) *statsapi.FsStats {
	stats := &statsapi.FsStats{}
	if fs, err := fileSystem(used.GetFsId().GetMountpoint()); err == nil {
		stats = fs
	}
	stats.Time, stats.UsedBytes, stats.InodesUsed = at(used.Timestamp), value(used.UsedBytes), value(used.InodesUsed)
	return stats
}
