package podcgroup

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
)

// Enforce limits what all pods together may use: cpu is a share against the rest
// of the machine, memory a limit (KubeletConfiguration enforceNodeAllocatable).
func (d Driver) Enforce(limit v1.ResourceList) error {
	resources := Resources{CPUShares: CPUShares(limit.Cpu().MilliValue())}
	if memory := limit.Memory().Value(); memory > 0 {
		resources.MemoryLimit = memory
	}
	if err := d.create(d.parents(), resources); err != nil {
		return fmt.Errorf("limit cgroup %s: %w", d.path(d.parents()), err)
	}
	return nil
}
