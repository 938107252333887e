package podcgroup

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
)

// Enforce limits what all pods together may use: cpu is a share against the rest
// of the machine, memory, process IDs and huge pages are limits (A-RES-6).
func (d Driver) Enforce(limit v1.ResourceList) error {
	resources := ofList(limit, false)
	resources.CPUShares = max(resources.CPUShares, MinCPUShares)
	resources.HugePages = HugePages(limit)
	if _, err := d.create(levels(d.Parent), resources); err != nil {
		return fmt.Errorf("limit cgroup %s: %w", d.path(levels(d.Parent)), err)
	}
	return nil
}
