package stats

import (
	"context"
	"errors"
	"maps"
	"math"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/google/cadvisor/lib/container/common"
	"github.com/google/cadvisor/lib/container/libcontainer"
	info "github.com/google/cadvisor/lib/model"
	"github.com/opencontainers/cgroups"
	"github.com/opencontainers/cgroups/fscommon"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// CAdvisorHandler answers /metrics/cadvisor: the metrics of the kubelet's cAdvisor
// that there are figures for, with its labels.
func (s *Stats) CAdvisorHandler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		list, err := s.cadvisor(r.Context())
		if err != nil {
			s.Log.Warn("can't measure the resource usage of containers", "err", err)
		}
		gathered(list.gatherer(err), s.Log).ServeHTTP(w, r)
	})
}

// cadvisor reads the cgroups that cAdvisor tells of, and the writable layers.
func (s *Stats) cadvisor(ctx context.Context) (*measured, error) {
	m := &measured{of: map[string]*info.ContainerInfo{}}
	sandboxes, err := s.running(ctx)
	if err != nil {
		return m, err
	}
	for _, name := range s.levels() {
		s.measureCgroup(m, name, nil, 0)
	}
	pods := map[types.UID]*v1.Pod{}
	for _, pod := range s.Pods.List() {
		pods[pod.UID] = pod
	}
	image := s.sandboxImage(ctx, sandboxes)
	for _, sb := range sandboxes {
		if pod := pods[sb.uid()]; pod != nil {
			s.measurePod(m, sb, pod, image)
		}
	}
	return m, nil
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

// measurePod reads a pod's cgroup, its sandbox's with the network, and its containers'.
func (s *Stats) measurePod(m *measured, sb sandbox, pod *v1.Pod, image string) {
	name := s.Pods.Cgroup(pod)
	of := map[string]string{"pod": pod.Name, "namespace": pod.Namespace}
	with := func(id, image, container string) map[string]string {
		all := maps.Clone(of)
		all["name"], all["image"], all["container"] = id, image, container
		return all
	}
	s.measureCgroup(m, name, of, 0)
	below := folders(name)
	if folder := folderOf(below, sb.Id); folder != "" {
		id, pid := path.Join(name, folder), 0
		if !pod.Spec.HostNetwork {
			pid = firstProcess(id)
		}
		s.measureCgroup(m, id, with(sb.Id, image, ""), pid)
	}
	for _, c := range sb.containers {
		folder := folderOf(below, c.Id)
		if folder == "" {
			continue
		}
		if labels := s.measureCgroup(m, path.Join(name, folder), with(c.Id, imageOf(pod, c), c.GetMetadata().GetName()), 0); labels != nil {
			m.layers = append(m.layers, layer{labels, c})
		}
	}
}

// measureCgroup reads what one cgroup says, and returns all its labels; nil: it is gone. pid is a process of it, to see its network
// by; 0: that is not read.
func (s *Stats) measureCgroup(m *measured, name string, labels map[string]string, pid int) map[string]string {
	found, err := infoOf(m, name, pid)
	if err != nil {
		if !errors.Is(err, os.ErrNotExist) {
			s.Log.Debug("can't read a cgroup", "cgroup", name, "err", err)
		}
		return nil
	}
	found.Spec.Labels = map[string]string{"id": name}
	maps.Copy(found.Spec.Labels, labels)
	m.of[name] = found
	return found.Spec.Labels
}

func infoOf(m *measured, name string, pid int) (*info.ContainerInfo, error) {
	manager, paths, err := open(name)
	if err != nil {
		return nil, err
	}
	stats, err := libcontainer.NewHandler(manager, "/", pid, read).GetStats()
	if err != nil {
		return nil, err
	}
	common.AssignDeviceNamesToDiskStats(devices{}, stats.DiskIo)
	stats.OOMEvents = oomKills(name)
	if name != "/" {
		stats.Processes = threadsOf(name)
	}
	spec, err := common.GetSpec(paths, m, pid != 0, false)
	if err != nil {
		return nil, err
	}
	spec.HasCpu = spec.Cpu.Period != 0 // the root has none
	if name == "/" {
		machine, err := machineMemory()
		if err != nil {
			return nil, err
		}
		spec.HasMemory, spec.Memory.Limit = true, machine.memory
	}
	return &info.ContainerInfo{ContainerReference: info.ContainerReference{Name: name}, Spec: spec, Stats: []*info.ContainerStats{stats}}, nil
}

// devices are the block devices of the machine.
type devices struct{}

// DeviceName is the path of a block device.
func (devices) DeviceName(major, minor uint64) (string, bool) { return deviceName(major, minor), true }

// threadsOf is how many threads a cgroup has, and may have; 0: any number.
func threadsOf(name string) *info.ProcessStats {
	dir := dirOf(name, "pids")
	now, _ := fscommon.GetCgroupParamUint(dir, "pids.current") // it may have gone
	most, _ := fscommon.GetCgroupParamUint(dir, "pids.max")
	if most == math.MaxUint64 {
		most = 0
	}
	return &info.ProcessStats{ThreadsCurrent: now, ThreadsMax: most}
}

// oomKills are the processes of a cgroup that the kernel has killed for want of memory.
func oomKills(name string) uint64 {
	file := "memory.oom_control"
	if cgroups.IsCgroup2UnifiedMode() {
		file = "memory.events"
	}
	kills, _ := fscommon.GetValueByKey(dirOf(name, "memory"), file, "oom_kill") // the root has none
	return kills
}

// imageOf is the image's name as the status has it.
func imageOf(pod *v1.Pod, c container) string {
	for _, status := range allStatuses(&pod.Status) {
		if strings.HasSuffix(status.ContainerID, "//"+c.Id) {
			return status.Image
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

// firstProcess is one of a cgroup's processes; 0 if there is none.
func firstProcess(name string) int {
	dir := dirOf(name, "memory")
	if cgroups.IsCgroup2UnifiedMode() {
		dir = filepath.Join("/sys/fs/cgroup", name)
	}
	text, _ := os.ReadFile(filepath.Join(dir, "cgroup.procs")) // it may have gone
	first, _, _ := strings.Cut(string(text), "\n")
	pid, _ := strconv.Atoi(first)
	return pid
}
