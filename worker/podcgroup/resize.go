package podcgroup

import (
	"errors"
	"fmt"
	"path/filepath"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/lifecycle"
)

// Resize brings a pod's cgroup to the least values that are enough for it in each
// of some states: with one it has that state's, with two it has room for the way
// from one to the other (A-ACT-12). The class, and so the path, stays.
func (d Driver) Resize(states []*v1.Pod) error {
	pod := states[0]
	resources := EnoughFor(states, d.CPULimits)
	resources.PidsLimit, resources.Unified = d.PidsLimit, d.MemoryQoS.OfPod(states[len(states)-1])
	names := d.names(lifecycle.QOSClass(pod), pod.UID)
	m, err := d.create(names, resources)
	if err != nil {
		return fmt.Errorf("resize cgroup %s: %w", d.path(names), err)
	}
	return errors.Join(d.setLevelShares(lifecycle.QOSClass(pod), weightFolder(m, filepath.Dir)), d.setLevelMemory())
}

// EnoughFor is the least that is enough for a pod in each of some states, of
// which there is at least one.
func EnoughFor(states []*v1.Pod, cpu CPULimits) Resources {
	enough := ResourcesOf(states[0], cpu)
	for _, pod := range states[1:] {
		r := ResourcesOf(pod, cpu)
		enough.CPUShares = max(enough.CPUShares, r.CPUShares)
		enough.CPUQuota = greaterLimit(enough.CPUQuota, r.CPUQuota)
		enough.MemoryLimit = greaterLimit(enough.MemoryLimit, r.MemoryLimit)
	}
	return enough
}

// greaterLimit takes 0 for no limit.
func greaterLimit(a, b int64) int64 {
	if a == 0 || b == 0 {
		return 0
	}
	return max(a, b)
}

// MilliCPUOfShares is the CPU request that shares stand for, rounded up, in
// thousandths of a CPU (A-CST-15).
func MilliCPUOfShares(shares int64) int64 { return (shares*1000 + 1023) / 1024 }
