package stats

import (
	"fmt"
	"math"
	"os"
	"path"
	"slices"
	"sync"
	"time"

	"github.com/google/cadvisor/lib/container/libcontainer"
	"github.com/opencontainers/cgroups"
)

// unlimited is more than any memory: the kernel rounds what stands for no limit.
const unlimited = 1 << 62

// cgroup is what one cgroup has used, with all that is below it.
type cgroup struct {
	*cgroups.Stats
	at time.Time
	v2 bool
}

// readCgroup reads one that is there, by its path below the root of each hierarchy.
func readCgroup(name string) (cgroup, error) {
	c := cgroup{at: time.Now(), v2: cgroups.IsCgroup2UnifiedMode()}
	m, _, err := open(name)
	if err == nil {
		c.Stats, err = m.GetStats()
	}
	if err != nil {
		return cgroup{}, fmt.Errorf("read cgroup %s: %w", name, err)
	}
	return c, nil
}

// open is what reads a cgroup that is there, and its folders by controller, of version 2 by "".
func open(name string) (cgroups.Manager, map[string]string, error) {
	if _, err := os.Stat(dirOf(name, "memory")); err != nil { // version 1 tells nothing of one that is not there
		return nil, nil, err
	}
	paths := map[string]string{"": path.Join("/sys/fs/cgroup", name)}
	if !cgroups.IsCgroup2UnifiedMode() {
		mounts, err := hierarchies()
		if err != nil {
			return nil, nil, err
		}
		paths = map[string]string{}
		for controller, mount := range mounts {
			if name != "/" || controller != "pids" { // the root counts none
				paths[controller] = path.Join(mount, name)
			}
		}
	}
	m, err := libcontainer.NewCgroupManager(name, paths)
	return m, paths, err
}

// readControllers are those of version 1 that are read: each costs files.
var readControllers = []string{"cpu", "cpuacct", "memory", "pids", "blkio"}

// hierarchies are where the controllers of version 1 are mounted; they stay there.
var hierarchies = sync.OnceValues(func() (map[string]string, error) {
	mounts, err := cgroups.GetCgroupMounts(true)
	if err != nil {
		return nil, err
	}
	found := map[string]string{}
	for _, m := range mounts {
		for _, controller := range m.Subsystems {
			if slices.Contains(readControllers, controller) {
				found[controller] = m.Mountpoint
			}
		}
	}
	return found, nil
})

// dirOf is a folder of a cgroup that has its files of a controller.
func dirOf(name, controller string) string {
	if cgroups.IsCgroup2UnifiedMode() {
		return path.Join("/sys/fs/cgroup", name)
	}
	mounts, err := hierarchies()
	if err != nil {
		return ""
	}
	return path.Join(mounts[controller], name)
}

// stat is a line of memory.stat, in bytes or events: v1 with all below it.
func (c cgroup) stat(v1, v2 string) uint64 {
	if c.v2 {
		return c.MemoryStats.Stats[v2]
	}
	return c.MemoryStats.Stats["total_"+v1]
}

// workingSet is what can't be taken back without swapping or killing, as
// Kubernetes has it: usage without the inactive files.
func (c cgroup) workingSet() uint64 {
	return minus(c.MemoryStats.Usage.Usage, c.stat("inactive_file", "inactive_file"))
}

// anonymous is memory of processes that no file backs.
func (c cgroup) anonymous() uint64 { return c.stat("rss", "anon") }

// limit is the limit of memory in bytes; false without one.
func (c cgroup) limit() (uint64, bool) {
	limit := c.MemoryStats.Usage.Limit
	return limit, limit > 0 && limit < unlimited
}

// swap is what is swapped out and the limit of it, 0 without one; false where it is
// not counted.
func (c cgroup) swap() (used, limit uint64, counted bool) {
	if c.v2 {
		s := c.MemoryStats.SwapOnlyUsage
		if s.Limit != math.MaxUint64 {
			limit = s.Limit
		}
		return s.Usage, limit, true
	}
	if both := c.MemoryStats.SwapUsage.Limit; both > 0 && both < unlimited { // of memory and swap together
		limit = minus(both, c.MemoryStats.Usage.Limit)
	}
	used, counted = c.MemoryStats.Stats["total_swap"]
	return used, limit, counted
}

// minus doesn't go below zero: its values were read one after the other.
func minus(a, b uint64) uint64 { return a - min(a, b) }
