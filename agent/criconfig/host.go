package criconfig

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/opencontainers/cgroups"
	"golang.org/x/sys/unix"
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
	return Node{
		MemoryBytes:   int64(info.Totalram) * int64(info.Unit),
		CgroupV2:      unified,
		SwapLimit:     swap,
		HugePageSizes: cgroups.HugePageSizes(),
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
