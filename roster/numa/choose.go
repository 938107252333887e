package numa

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"
)

// DeviceNeed is what a container asks for of one resource, and what there is of it (A-DEV-6).
type DeviceNeed struct {
	PodUID, Container, Name string
	Count                   int
	// Has are the devices that the container was given before.
	Has DeviceIDs
	// Reusable are those of regular init containers of the same pod.
	Reusable DeviceIDs
	// Registered: a plugin has registered for it, now or before.
	Registered bool
	Resource   DeviceResource
	InUse      DeviceIDs
	// Affinity are the NUMA nodes that it is to be near to; nil: any (A-DEV-7).
	Affinity []int64
}

// DeviceChoice is the devices of a container, or what the plugin is to be asked first.
type DeviceChoice struct {
	// IDs are in order. None are needed if the container has them already.
	IDs []string
	// Ask is what GetPreferredAllocation is called with; nil: the choice is made.
	Ask *DeviceQuestion

	need      DeviceNeed
	available DeviceIDs // those that may be preferred
	rest      [][]string
}

// DeviceQuestion is the request of GetPreferredAllocation.
type DeviceQuestion struct {
	Available, MustInclude []string
	Size                   int
}

// ErrShort is that fewer devices are unused than are needed: others may give some back.
type ErrShort struct {
	Name          string
	Needs, Unused int
}

// Error is what Kubernetes says.
func (e *ErrShort) Error() string {
	return fmt.Sprintf("requested number of devices unavailable for %s. Requested: %d, Available: %d", e.Name, e.Needs, e.Unused)
}

// ChooseDevices decides which devices a container gets. canAsk says that the plugin has preferences.
func ChooseDevices(n DeviceNeed, canAsk bool) (DeviceChoice, error) {
	c := DeviceChoice{need: n}
	if err := n.check(); err != nil || n.Has != nil {
		return c, err
	}
	if c.take(sets.List(n.Reusable)); c.missing() == 0 {
		return c, nil
	}
	available := n.Resource.Healthy().Difference(n.InUse).Difference(sets.New(c.IDs...))
	if available.Len() < c.missing() {
		return DeviceChoice{}, &ErrShort{Name: n.Name, Needs: c.missing(), Unused: available.Len()}
	}
	aligned, unaligned, without := n.byAffinity(available)
	c.available, c.rest = sets.New(aligned...), [][]string{aligned}
	if c.missing() >= len(aligned) {
		c.take(aligned)
		c.available, c.rest = available, [][]string{unaligned, without}
	}
	if c.missing() == 0 {
		return c, nil
	}
	if canAsk {
		c.Ask = &DeviceQuestion{Available: sets.List(c.available.Union(sets.New(c.IDs...))), MustInclude: slices.Sorted(slices.Values(c.IDs)), Size: n.Count}
		return c, nil
	}
	return c.Preferred(nil), nil
}

// Preferred completes a choice with what the plugin prefers, as far as it may have that.
func (c DeviceChoice) Preferred(ids []string) DeviceChoice {
	c.Ask = nil
	c.take(sets.List(sets.New(ids...).Intersection(c.available)))
	for _, rest := range c.rest {
		c.take(rest)
	}
	return c
}

// check is why nothing can be given: the reasons of Kubernetes, in its order.
func (n *DeviceNeed) check() error {
	switch healthy := n.Resource.Healthy(); {
	case n.Has != nil && n.Has.Len() != n.Count:
		return fmt.Errorf("pod %q container %q changed request for resource %q from %d to %d", n.PodUID, n.Container, n.Name, n.Has.Len(), n.Count)
	case !n.Registered:
		return fmt.Errorf("cannot allocate unregistered device %s", n.Name)
	case healthy.Len() == 0:
		return fmt.Errorf("no healthy devices present; cannot allocate unhealthy devices %s", n.Name)
	case !healthy.IsSuperset(n.Has):
		return fmt.Errorf("previously allocated devices are no longer healthy; cannot allocate unhealthy devices %s", n.Name)
	}
	return nil
}

func (c *DeviceChoice) missing() int { return c.need.Count - len(c.IDs) }

// take takes devices until there are enough.
func (c *DeviceChoice) take(ids []string) {
	for _, id := range ids {
		if c.missing() == 0 {
			return
		}
		if !slices.Contains(c.IDs, id) {
			c.IDs = append(c.IDs, id)
		}
	}
}

// noNode stands for devices that are near to no NUMA node.
const noNode = -1

// byAffinity divides devices into those that are near to the wanted NUMA nodes, near to
// others, and near to none. Without a wish all are of the last kind. Those of the nodes with
// the fewest devices come first.
func (n *DeviceNeed) byAffinity(available DeviceIDs) (aligned, unaligned, without []string) {
	if n.Affinity == nil || !n.Resource.aligned() {
		return nil, nil, sets.List(available)
	}
	of := map[int64][]string{}
	for _, id := range sets.List(available) {
		nodes := n.Resource[id].Nodes
		if len(nodes) == 0 {
			nodes = []int64{noNode}
		}
		for _, node := range nodes {
			of[node] = append(of[node], id)
		}
	}
	nodes := slices.Sorted(maps.Keys(of))
	slices.SortStableFunc(nodes, func(a, b int64) int {
		return cmp.Or(cmp.Compare(n.rank(a), n.rank(b)), cmp.Compare(len(of[a]), len(of[b])))
	})
	seen := DeviceIDs{}
	for _, node := range nodes {
		for _, id := range of[node] {
			switch {
			case seen.Has(id):
				continue
			case n.rank(node) == 0:
				aligned = append(aligned, id)
			case node == noNode:
				without = append(without, id)
			default:
				unaligned = append(unaligned, id)
			}
			seen.Insert(id)
		}
	}
	return aligned, unaligned, without
}

// rank orders NUMA nodes: the wanted ones, others, none.
func (n *DeviceNeed) rank(node int64) int {
	switch {
	case slices.Contains(n.Affinity, node):
		return 0
	case node == noNode:
		return 2
	}
	return 1
}
