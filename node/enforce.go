package node

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/lifepod/lifepod/host"
	"github.com/lifepod/lifepod/node/config"
	"github.com/lifepod/lifepod/node/register"
	"github.com/lifepod/lifepod/worker/podcgroup"
)

// allot tells what depends on how much memory of the machine is for pods.
func (m *machine) allot(allocatable v1.ResourceList) {
	memory := allocatable.Memory().Value()
	m.config.MemoryQoS.Allocatable, m.cgroups.MemoryQoS.Allocatable = memory, memory
}

// enforce limits what all pods may use together, and what is reserved for others, as far
// as that is wanted (A-RES-6). A reservation that can't be made is an error.
func enforce(s *setup, m *machine, node *register.Node, c *cluster) (*podsLimiter, error) {
	m.allot(node.Node().Status.Allocatable)
	cgroups := m.cgroups
	tell := func(kind, reason, message string) {
		if c != nil {
			c.nodeEvent(kind, reason, message)
		}
	}
	limit, err := podsLimit(s.config, node, host.ThisKernel())
	if err != nil {
		return nil, err
	}
	if err := cgroups.EnsureLevels(); err != nil {
		return nil, err
	}
	pods := &podsLimiter{cgroup: cgroups.Root(), limit: func() error { return cgroups.Enforce(limit) }, tell: tell, log: s.log}
	pods.try()
	for _, r := range reservations(s.config) {
		if err := cgroups.EnforceReserved(r.cgroup, r.list, r.compressible); err != nil {
			tell(v1.EventTypeWarning, "FailedNodeAllocatableEnforcement", fmt.Sprintf("Failed to enforce %s Cgroup Limits on %q: %v", r.title, r.cgroup, err))
			return nil, fmt.Errorf("%s %q: %w", r.field, r.cgroup, err)
		}
		tell(v1.EventTypeNormal, "NodeAllocatableEnforced", fmt.Sprintf("Updated limits on %s reserved cgroup %s", r.name, r.cgroup))
	}
	return pods, nil
}

// podsLimiter limits what all pods may use together.
type podsLimiter struct {
	cgroup string
	limit  func() error
	tell   func(kind, reason, message string)
	log    *slog.Logger
	done   bool
}

func (p *podsLimiter) try() {
	if err := p.limit(); err != nil {
		p.log.Warn("the resources of all pods together are not limited", "err", err)
		p.tell(v1.EventTypeWarning, "FailedNodeAllocatableEnforcement", fmt.Sprintf("Failed to update Node Allocatable Limits %q: %v", p.cgroup, err))
		return
	}
	p.done = true
	p.tell(v1.EventTypeNormal, "NodeAllocatableEnforced", "Updated Node Allocatable limit across pods")
}

// run tries again every minute until it is done: pods whose use is above a new limit keep
// the cgroup from getting it, and some may have ended or been evicted.
func (p *podsLimiter) run(ctx context.Context) {
	for !p.done {
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Minute):
			p.try()
		}
	}
}

// podsLimit is what all pods may use together: all that the machine has, unless what is
// not reserved is enforced.
func podsLimit(c *config.Config, node *register.Node, kernel host.Kernel) (v1.ResourceList, error) {
	pids, err := kernel.MaxPIDs()
	if err != nil {
		return nil, err
	}
	limit := node.Node().Status.Capacity.DeepCopy()
	if slices.Contains(c.Kubelet.EnforceNodeAllocatable, config.EnforcePods) {
		limit = node.PodsLimit()
		for _, reserved := range []map[string]string{c.Kubelet.KubeReserved, c.Kubelet.SystemReserved} {
			list := listOf(reserved)
			pids -= list.Name(podcgroup.ResourcePIDs, resource.DecimalSI).Value()
		}
	}
	limit[podcgroup.ResourcePIDs] = *resource.NewQuantity(max(pids, 1), resource.DecimalSI)
	return limit, nil
}

// reservation is a cgroup that is limited to what is reserved for it.
type reservation struct {
	name, title, field string
	cgroup             string
	list               v1.ResourceList
	compressible       bool
}

// reservations are those that enforceNodeAllocatable names.
func reservations(c *config.Config) (out []reservation) {
	k := c.Kubelet
	for _, r := range []struct {
		enforcement string
		reservation
	}{
		{config.EnforceSystem, reservation{name: "system", title: "System Reserved", field: "systemReservedCgroup", cgroup: k.SystemReservedCgroup, list: listOf(k.SystemReserved)}},
		{config.EnforceKube, reservation{name: "kube", title: "Kube Reserved", field: "kubeReservedCgroup", cgroup: k.KubeReservedCgroup, list: listOf(k.KubeReserved)}},
	} {
		if slices.Contains(k.EnforceNodeAllocatable, r.enforcement) {
			out = append(out, r.reservation)
		}
		if slices.Contains(k.EnforceNodeAllocatable, r.enforcement+config.Compressible) {
			r.title, r.compressible = r.title+" Compressible", true
			out = append(out, r.reservation)
		}
	}
	return out
}

// listOf is a reservation that was found valid.
func listOf(amounts map[string]string) v1.ResourceList {
	list, _ := register.Reservation("", amounts)
	return list
}
