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
