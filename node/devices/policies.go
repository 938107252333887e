package devices

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	kubeletconfig "k8s.io/kubelet/config/v1beta1"
	"k8s.io/utils/cpuset"

	"github.com/lifepod/lifepod/node/config"
	"github.com/lifepod/lifepod/node/managerstate"
	"github.com/lifepod/lifepod/roster"
	"github.com/lifepod/lifepod/roster/numa"
)

// The policies as state files have them.
const (
	cpuNone   = config.NoExclusiveCPUs
	cpuStatic = config.ExclusiveCPUs

	memoryNone   = kubeletconfig.NoneMemoryManagerPolicy
	memoryStatic = kubeletconfig.StaticMemoryManagerPolicy
)

// ExclusiveShares says whether containers share all CPUs and memory: no policy gives any of them their own.
func ExclusiveShares(k *kubeletconfig.KubeletConfiguration) bool {
	return k.CPUManagerPolicy == cpuNone && k.MemoryManagerPolicy == memoryNone && k.TopologyManagerPolicy == numa.None
}

// FixedResources is what Guaranteed pods have for themselves, so that a resize can't change it, unless
// feature gates say that they keep what they have (A-ACT-15).
func FixedResources(k *kubeletconfig.KubeletConfiguration) roster.Fixed {
	return roster.Fixed{
		CPUs:   k.CPUManagerPolicy == cpuStatic && !config.Enabled(k, config.ResizeExclusiveCPUs),
		Memory: k.MemoryManagerPolicy == memoryStatic && !config.Enabled(k, config.ResizeExclusiveMemory),
	}
}

// NewExclusive are the policies of a node before any pod. layout is where its machine's CPUs and memory
// are, and reserved what no pod may have.
func NewExclusive(k *kubeletconfig.KubeletConfiguration, layout numa.Layout, reserved v1.ResourceList) (r *numa.Resources, err error) {
	r = &numa.Resources{}
	options, err := numa.ParseOptions(k.TopologyManagerPolicyOptions)
	if err != nil {
		return nil, fmt.Errorf("topologyManagerPolicyOptions: %w", err)
	}
	if r.Topology, err = numa.NewPolicy(k.TopologyManagerPolicy, k.TopologyManagerScope, options, layout); err != nil {
		return nil, fmt.Errorf("topologyManagerPolicy: %w", err)
	}
	if k.CPUManagerPolicy == cpuStatic {
		if r.CPUs, err = staticCPUs(k, layout, reserved); err != nil {
			return nil, fmt.Errorf("cpuManagerPolicy: %w", err)
		}
	}
	if k.MemoryManagerPolicy == memoryStatic {
		if r.Memory, err = staticMemory(k, layout, reserved); err != nil {
			return nil, fmt.Errorf("memoryManagerPolicy: %w", err)
		}
	}
	return r, r.Check()
}

var errNoneReserved = errors.New("[cpumanager] the static policy requires systemreserved.cpu + kubereserved.cpu to be greater than zero")

// staticCPUs is the policy static (A-NUMA-3).
func staticCPUs(k *kubeletconfig.KubeletConfiguration, layout numa.Layout, reserved v1.ResourceList) (*numa.StaticCPUs, error) {
	count := reserved[v1.ResourceCPU]
	if count.IsZero() {
		return nil, errNoneReserved
	}
	options, err := numa.ParseCPUOptions(k.CPUManagerPolicyOptions, config.CPUOptionGates(k))
	if err != nil {
		return nil, err
	}
	set, err := cpuset.Parse(k.ReservedSystemCPUs)
	if err != nil {
		return nil, fmt.Errorf("reservedSystemCPUs %q: %w", k.ReservedSystemCPUs, err)
	}
	return numa.NewStaticCPUs(layout, set, int(math.Ceil(float64(count.MilliValue())/1000)), options)
}

// staticMemory is the policy Static. What is reserved of each NUMA node has to be what is
// reserved of the machine (A-NUMA-12).
func staticMemory(k *kubeletconfig.KubeletConfiguration, layout numa.Layout, reserved v1.ResourceList) (*numa.StaticMemory, error) {
	of, sums := numa.ReservedMemory{}, v1.ResourceList{}
	for _, r := range k.ReservedMemory {
		id := int(r.NumaNode)
		if !slices.Contains(layout.NodeIDs(), id) {
			return nil, fmt.Errorf("the reserved memory configuration references a NUMA node %d that does not exist on this machine", id)
		}
		if of[id] == nil {
			of[id] = map[v1.ResourceName]uint64{}
		}
		for name, amount := range r.Limits {
			of[id][name] = uint64(amount.Value())
			sum := sums[name]
			sum.Add(amount)
			sums[name] = sum
		}
	}
	for name := range reserved {
		if _, has := sums[name]; !has && (name == v1.ResourceMemory || strings.HasPrefix(string(name), v1.ResourceHugePagesPrefix)) {
			sums[name] = resource.Quantity{}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		if sum, all := sums[name], reserved[name]; sum.Cmp(all) != 0 {
			return nil, fmt.Errorf("the total amount %q of type %q is not equal to the value %q determined by Node Allocatable feature", sum.String(), name, all.String())
		}
	}
	return numa.NewStaticMemory(layout, of)
}

// RestoreExclusive goes on with the state of before. One of another policy, or of another machine, is an
// error (A-NUMA-15). Without a policy nothing is kept, and nothing is written.
func RestoreExclusive(dir string, r *numa.Resources) error {
	cpuPolicy, memoryPolicy := cpuNone, memoryNone
	if r.CPUs != nil {
		cpuPolicy = cpuStatic
	}
	if r.Memory != nil {
		memoryPolicy = memoryStatic
	}
	ofCPUs, err := managerstate.ReadCPUs(dir, cpuPolicy)
	if err != nil {
		return err
	}
	ofMemory, err := managerstate.ReadMemory(dir, memoryPolicy)
	if err != nil {
		return err
	}
	if r.CPUs != nil {
		if err := r.CPUs.Restore(ofCPUs); err != nil {
			return managerstate.Unusable("CPU manager", dir, err)
		}
	}
	if r.Memory != nil {
		if err := r.Memory.Restore(ofMemory); err != nil {
			return managerstate.Unusable("memory manager", dir, err)
		}
	}
	return SaveExclusive(dir, r)
}

// SaveExclusive saves the allocations for the next agent.
func SaveExclusive(dir string, r *numa.Resources) error {
	if r.CPUs != nil {
		if err := managerstate.WriteCPUs(dir, cpuStatic, r.CPUs.State()); err != nil {
			return err
		}
	}
	if r.Memory != nil {
		return managerstate.WriteMemory(dir, memoryStatic, r.Memory.State())
	}
	return nil
}
