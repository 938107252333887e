package devices

import (
	"context"
	"slices"

	v1 "k8s.io/api/core/v1"
	resourcehelper "k8s.io/component-helpers/resource"

	"github.com/lifepod/lifepod/roster/numa"
)

// Admission is the admission of one pod, which gets all devices that it asks for, or none
// (A-DEV-5, A-DEV-8). What a Provider has given is nobody else's from then on. End ends it.
type Admission struct {
	devices *Devices
	ctx     context.Context // of the calls of plugins
	pod     *v1.Pod
	machine []int             // the NUMA nodes
	before  held              // what the pod had already, and keeps
	given   []v1.ResourceName // of which it has devices
	refused bool
}

// Admit begins the admission of a pod on a machine with some NUMA nodes.
func (d *Devices) Admit(ctx context.Context, pod *v1.Pod, machine []int) *Admission {
	return &Admission{devices: d, ctx: ctx, pod: pod, machine: machine, before: d.has(pod)}
}

// Provider gives the pod its devices. Another one gives the same again.
func (a *Admission) Provider() numa.Provider {
	return &provider{Admission: a, reusable: map[string]numa.DeviceIDs{}}
}

// Refused says whether the pod was refused because of its devices.
func (a *Admission) Refused() bool { return a.refused }

// End ends an admission; refused is why the pod was refused, which then keeps nothing. Of a pod
// that was admitted it is remembered, also by the next agent, of what it was given devices.
func (a *Admission) End(refused error) (given []v1.ResourceName, err error) {
	if refused == nil && len(a.given) > 0 {
		refused = a.devices.save()
	}
	if refused != nil {
		a.devices.takeBack(a.pod, a.before)
		return nil, refused
	}
	return a.given, nil
}

// provider is what the topology manager asks.
type provider struct {
	*Admission
	// reusable are the devices of containers that ended before others begin, by resource.
	reusable map[string]numa.DeviceIDs
}

// Hints says near to which NUMA nodes the devices of a container could be (A-NUMA-16).
func (p *provider) Hints(pod *v1.Pod, container *v1.Container) numa.Hints {
	hints := numa.Hints{}
	for name, count := range countsOf(pod, container) {
		p.hint(hints, name, count, func(a containers) *assignment { return a[container.Name][name] })
	}
	return hints
}

// PodHints is Hints for all containers of a pod together.
func (p *provider) PodHints(pod *v1.Pod) numa.Hints {
	hints := numa.Hints{}
	for name, count := range countsOfPod(pod) {
		p.hint(hints, name, count, func(all containers) *assignment { return all.together(name) })
	}
	return hints
}

// hint adds the hints of a resource; has picks what was given before.
func (p *provider) hint(hints numa.Hints, name string, count int, has func(containers) *assignment) {
	d := p.devices
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.isDevice(name) {
		return
	}
	var resource numa.DeviceResource
	if r := d.resources[name]; r != nil {
		resource = r.devices
	}
	from, reusable := resource.Healthy().Difference(d.inUse(name)), p.reusable[name]
	if given := has(d.pods[p.pod.UID]); given != nil && given.ids().Len() > 0 {
		if from, reusable = given.ids(), nil; from.Len() != count {
			hints[name] = []numa.Hint{}
			return
		}
	}
	hints[name] = resource.Hints(p.machine, from, reusable, count)
}

// Allocate gives a container its devices. Those of a regular init container are the
// first that later containers of the pod get (A-DEV-6).
func (p *provider) Allocate(pod *v1.Pod, c *v1.Container, hint numa.Hint) error {
	for _, name := range asked(pod, c) {
		d := p.devices
		d.mu.Lock()
		is := d.isDevice(name)
		d.mu.Unlock()
		if !is {
			continue
		}
		count := c.Resources.Limits[v1.ResourceName(name)]
		if err := d.allocate(p.ctx, claim{pod: pod, container: c.Name, name: name, count: int(count.Value()), near: nodesOf(hint)}, p.reusable[name]); err != nil {
			p.refused = true
			return err
		}
		if resource := v1.ResourceName(name); !slices.Contains(p.given, resource) {
			p.given = append(p.given, resource)
		}
		has := d.idsOf(pod, c, name)
		if returnsSoon(pod, c) {
			p.reusable[name] = p.reusable[name].Union(has)
		} else {
			p.reusable[name] = p.reusable[name].Difference(has)
		}
	}
	return nil
}

// nodesOf are the NUMA nodes of a hint; nil: any.
func nodesOf(hint numa.Hint) (nodes []int64) {
	for _, node := range hint.Nodes.Nodes() {
		nodes = append(nodes, int64(node))
	}
	return nodes
}

// together is what all containers of a pod have of a resource.
func (c containers) together(name string) *assignment {
	all := &assignment{near: map[int64][]string{}}
	for _, has := range c {
		if a := has[name]; a != nil {
			for node, ids := range a.near {
				all.near[node] = append(all.near[node], ids...)
			}
		}
	}
	return all
}

// countsOf is how many devices a container asks for, by resource.
func countsOf(pod *v1.Pod, c *v1.Container) map[string]int {
	counts := map[string]int{}
	for _, name := range asked(pod, c) {
		count := c.Resources.Limits[v1.ResourceName(name)]
		counts[name] = int(count.Value())
	}
	return counts
}

// countsOfPod is how many its containers have at the same time at most.
func countsOfPod(pod *v1.Pod) map[string]int {
	limits, counts := resourcehelper.PodLimits(pod, resourcehelper.PodResourcesOptions{ExcludeOverhead: true}), map[string]int{}
	for _, c := range ofPod(pod) {
		for _, name := range asked(pod, c) {
			count := limits[v1.ResourceName(name)]
			counts[name] = int(count.Value())
		}
	}
	return counts
}
