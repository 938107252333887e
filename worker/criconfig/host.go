package criconfig

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/opencontainers/cgroups"
	"golang.org/x/sys/unix"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/worker/podcgroup"
)

// Host reads the host's part of Node: memory, cgroup version, swap limit, page
// sizes and paths to mask. It is the one function here that looks at the host.
func Host() (Node, error) {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return Node{}, fmt.Errorf("read the host's memory size: %w", err)
	}
	masked, err := filepath.Glob("/sys/devices/system/cpu/cpu[0-9]*/thermal_throttle")
	if err != nil {
		return Node{}, fmt.Errorf("list the host's CPUs: %w", err)
	}
	unified := cgroups.IsCgroup2UnifiedMode()
	swap, err := limitsSwap(unified)
	if err != nil {
		return Node{}, fmt.Errorf("look for the swap limit: %w", err)
	}
	pages, err := hugePages("/sys/kernel/mm/hugepages")
	if err != nil {
		return Node{}, fmt.Errorf("count the host's huge pages: %w", err)
	}
	return Node{
		MemoryBytes:   int64(info.Totalram) * int64(info.Unit),
		CgroupV2:      unified,
		SwapLimit:     swap,
		SwapBytes:     int64(info.Totalswap) * int64(info.Unit),
		HugePageSizes: cgroups.HugePageSizes(),
		HugePages:     pages,
		MaskedPaths:   masked,
	}, nil
}

// limitsSwap says whether the kernel accounts for swap by cgroup. On cgroup v2
// the root has no such file; any cgroup below it does.
func limitsSwap(unified bool) (bool, error) {
	pattern := "/sys/fs/cgroup/memory/memory.memsw.limit_in_bytes"
	if unified {
		own, err := cgroups.ParseCgroupFile("/proc/self/cgroup")
		if err != nil {
			return false, err
		}
		pattern = filepath.Join("/sys/fs/cgroup", own[""], "memory.swap.max")
		if own[""] == "/" {
			matches, err := filepath.Glob("/sys/fs/cgroup/*/memory.swap.max")
			return len(matches) > 0, err
		}
	}
	_, err := os.Stat(pattern)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// hugePages is how much memory the host has set aside for each size of page;
// folder has one folder a size, such as hugepages-2048kB.
func hugePages(folder string) (map[v1.ResourceName]int64, error) {
	counts, err := filepath.Glob(filepath.Join(folder, "hugepages-*kB", "nr_hugepages"))
	if err != nil {
		return nil, err
	}
	out := map[v1.ResourceName]int64{}
	for _, path := range counts {
		var kilobytes, count int64
		if _, err := fmt.Sscanf(filepath.Base(filepath.Dir(path)), "hugepages-%dkB", &kilobytes); err != nil {
			return nil, fmt.Errorf("page size of %s: %w", path, err)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		if count, err = strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err != nil {
			return nil, fmt.Errorf("read %s: %w", path, err)
		}
		size := resource.NewQuantity(kilobytes<<10, resource.BinarySI)
		out[v1.ResourceName(v1.ResourceHugePagesPrefix+size.String())] = count * (kilobytes << 10)
	}
	return out, nil
}

// Node is what the configs depend on beyond the pod; one value per agent.
type Node struct {
	// LogRoot is the folder of all pod logs, /var/log/pods for a kubelet.
	LogRoot string
	Seccomp Seccomp
	// MemoryBytes is the host's memory, for OOM scores (A-CRI-10).
	MemoryBytes int64
	// CgroupV2 says that the host has the unified hierarchy, and
	// SingleProcessOOMKill that one process of a container may be killed alone
	// there (A-CRI-11).
	CgroupV2             bool
	SingleProcessOOMKill bool
	// SwapLimit says that the host can limit swap; containers then get none, or with
	// LimitedSwap some of them their part of SwapBytes (A-CRI-11).
	SwapLimit   bool
	LimitedSwap bool
	SwapBytes   int64
	// MemoryQoS protects and throttles memory on cgroup v2 (A-RES-7).
	MemoryQoS podcgroup.MemoryQoS
	// Users are the IDs of which pods get user namespaces (A-SEC-6).
	Users UserNamespaceBlocks
	// CPULimits is how CPU limits are enforced (A-CRI-7).
	CPULimits podcgroup.CPULimits
	// HugePageSizes are the host's, named as in cgroupfs ("2MB").
	HugePageSizes []string
	// HugePages is what the host has of each size, in bytes by resource name.
	HugePages map[v1.ResourceName]int64
	// SELinux says that the kernel enforces it, so that the runtime labels what is mounted (A-VOL-2).
	SELinux bool
	// MaskedPaths are masked in addition to the fixed ones: the existing
	// thermal_throttle folders (A-SEC-5).
	MaskedPaths []string
}

// Seccomp is how a node confines the calls of containers.
type Seccomp struct {
	// Root is the folder of Localhost profiles, <root>/seccomp.
	Root string
	// Default confines containers that name no profile to the runtime's default
	// one (A-SEC-4).
	Default bool
}

// Swaps says whether containers may have their part of the swap (A-CRI-11).
func (n Node) Swaps() bool { return n.CgroupV2 && n.SwapLimit && n.LimitedSwap }

// PodLogDirectory is the folder of a pod's logs (A-CRI-1).
func (n Node) PodLogDirectory(pod *v1.Pod) string {
	return filepath.Join(n.LogRoot, lifecycle.PodLogFolder(pod))
}

// RemovePodLogs removes the folder of a pod's logs. One that can't exist, because its name is
// too long or its parent is no folder, is gone (A-ADM-9).
func (n Node) RemovePodLogs(pod *v1.Pod) error {
	err := os.RemoveAll(n.PodLogDirectory(pod))
	if err == nil || errors.Is(err, unix.ENAMETOOLONG) || errors.Is(err, unix.ENOTDIR) {
		return nil
	}
	return fmt.Errorf("remove the pod's logs: %w", err)
}

// ContainerLogPath is a container's log, relative to its pod's log folder.
func ContainerLogPath(container string, restartCount int) string {
	return filepath.Join(container, strconv.Itoa(restartCount)+".log")
}
