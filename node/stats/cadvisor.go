package stats

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/opencontainers/cgroups"
	"github.com/prometheus/client_golang/prometheus"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// CAdvisorHandler answers /metrics/cadvisor: the metrics of the kubelet's cAdvisor
// that there are figures for, with its labels.
func (s *Stats) CAdvisorHandler() http.Handler {
	return scraped(s.Log, func(ctx context.Context, out chan<- prometheus.Metric) {
		w := writer{out}
		w.machine()
		failed := 0.0
		if err := s.cadvisor(ctx, w); err != nil {
			failed = 1
			s.Log.Warn("can't measure the resource usage of containers", "err", err)
		}
		out <- gauge(containerError, failed)
	})
}

func (s *Stats) cadvisor(ctx context.Context, w writer) error {
	sandboxes, err := s.running(ctx)
	if err != nil {
		return err
	}
	for _, name := range s.levels() {
		s.write(w, labels{id: name}, name)
	}
	pods := map[types.UID]*v1.Pod{}
	for _, pod := range s.Pods.List() {
		pods[pod.UID] = pod
	}
	image := s.sandboxImage(ctx, sandboxes)
	for _, sb := range sandboxes {
		if pod := pods[sb.uid()]; pod != nil {
			s.writePod(w, sb, pod, image)
		}
	}
	return nil
}

// levels are the cgroups above the pods', and those of the system's parts.
func (s *Stats) levels() []string {
	levels := []string{"/", s.Pods.CgroupRoot}
	for _, name := range folders(s.Pods.CgroupRoot) {
		if isLevel(name) {
			levels = append(levels, path.Join(s.Pods.CgroupRoot, name))
		}
	}
	for _, name := range []string{cgroupOf(os.Getpid()), s.runtimeCgroup()} {
		if name != "" && name != "/" && name != levels[len(levels)-1] {
			levels = append(levels, name)
		}
	}
	return levels
}

// isLevel says whether a cgroup is that of a QoS class, such as burstable or
// kubepods-burstable.slice.
func isLevel(name string) bool {
	name = strings.TrimSuffix(name, ".slice")
	return strings.HasSuffix(name, "burstable") || strings.HasSuffix(name, "besteffort")
}

// writePod writes a pod's cgroup, its sandbox's with the network, and its containers'.
func (s *Stats) writePod(w writer, sb sandbox, pod *v1.Pod, image string) {
	name := s.Pods.Cgroup(pod)
	of := labels{id: name, pod: pod.Name, namespace: pod.Namespace}
	s.write(w, of, name)
	below := folders(name)
	if folder := folderOf(below, sb.Id); folder != "" {
		of := of
		of.id, of.name, of.image = path.Join(name, folder), sb.Id, image
		s.write(w, of, of.id)
		if list, err := links(firstProcess(of.id)); err == nil && !pod.Spec.HostNetwork {
			w.of(of).network(list)
		}
	}
	for _, c := range sb.containers {
		folder := folderOf(below, c.Id)
		if folder == "" {
			continue
		}
		of := of
		of.id, of.name, of.container, of.image = path.Join(name, folder), c.Id, c.GetMetadata().GetName(), imageOf(pod, c)
		s.write(w, of, of.id)
		w.of(of).layer(c)
	}
}

// write writes what one cgroup says; it may be gone.
func (s *Stats) write(w writer, of labels, name string) {
	c, err := read(name)
	if err != nil {
		if !errors.Is(err, os.ErrNotExist) {
			s.Log.Debug("can't read a cgroup", "cgroup", name, "err", err)
		}
		return
	}
	f := w.of(of)
	f.usage(c)
	f.limits(c)
	f.level("container_start_time_seconds", time.Time{}, uint64(max(0, madeAt(name).Unix())))
	f.level("container_last_seen", c.at, uint64(c.at.Unix()))
}

// imageOf is the image's name as the status has it.
func imageOf(pod *v1.Pod, c container) string {
	for _, list := range [][]v1.ContainerStatus{pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses, pod.Status.EphemeralContainerStatuses} {
		for _, status := range list {
			if strings.HasSuffix(status.ContainerID, "//"+c.Id) {
				return status.Image
			}
		}
	}
	return c.GetImage().GetUserSpecifiedImage()
}

// folders are the cgroups in a cgroup.
func folders(name string) []string {
	entries, _ := os.ReadDir(dirOf(name, "memory")) // a cgroup that has gone has none
	var list []string
	for _, entry := range entries {
		if entry.IsDir() {
			list = append(list, entry.Name())
		}
	}
	return list
}

// folderOf is the one of a container: its ID, or a systemd scope with it.
func folderOf(list []string, id string) string {
	for _, name := range list {
		if strings.Contains(name, id) {
			return name
		}
	}
	return ""
}

// firstProcess is one of a cgroup's processes; empty if there is none.
func firstProcess(name string) string {
	dir := dirOf(name, "memory")
	if cgroups.IsCgroup2UnifiedMode() {
		dir = filepath.Join("/sys/fs/cgroup", name)
	}
	text, _ := os.ReadFile(filepath.Join(dir, "cgroup.procs")) // it may have gone
	pid, _, _ := strings.Cut(string(text), "\n")
	return pid
}

// seconds are those of a duration in nanoseconds.
func seconds(nanos uint64) float64 { return float64(nanos) / float64(time.Second) }
