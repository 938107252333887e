package register

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/cpuset"

	"github.com/lifepod/lifepod/roster/admit"
)

// Resources say what of the machine pods may use, as KubeletConfiguration does.
type Resources struct {
	// RootDir is the folder whose filesystem is the node's ephemeral storage.
	RootDir string
	// WithoutEphemeralStorage leaves it out (localStorageCapacityIsolation: false).
	WithoutEphemeralStorage bool
	// KeepExtended leaves the extended resources of an existing Node as they are; without, they
	// are set to 0, as those of a machine that is new (A-DEV-4).
	KeepExtended bool
	// MaxPods may run; PodsPerCore, if set, is a further limit.
	MaxPods, PodsPerCore int32
	// KubeReserved and SystemReserved have cpu, memory, ephemeral-storage and pid.
	KubeReserved, SystemReserved map[string]string
	// ReservedSystemCPUs is a list of CPUs such as "0-1,4"; their number replaces
	// the cpu of both reservations.
	ReservedSystemCPUs string
	// EvictionHard has thresholds by signal, such as memory.available: 100Mi; those
	// of memory and nodefs are kept free.
	EvictionHard map[string]string
}

// resourcePIDs is the name of process IDs in reservations; a Node has no
// capacity of it.
const resourcePIDs v1.ResourceName = "pid"

// capacity is what the machine has.
func (r Resources) capacity(m Machine) v1.ResourceList {
	cores := int64(m.CPUs.Size())
	out := v1.ResourceList{
		v1.ResourceCPU:    *resource.NewMilliQuantity(cores*1000, resource.DecimalSI),
		v1.ResourceMemory: *resource.NewQuantity(m.MemoryBytes, resource.BinarySI),
		v1.ResourcePods:   *resource.NewQuantity(r.pods(cores), resource.DecimalSI),
	}
	if !r.WithoutEphemeralStorage {
		out[v1.ResourceEphemeralStorage] = *resource.NewQuantity(m.StorageBytes, resource.BinarySI)
	}
	for _, pages := range m.HugePages {
		size := resource.NewQuantity(pages.PageBytes, resource.BinarySI)
		out[v1.ResourceName(v1.ResourceHugePagesPrefix+size.String())] = *resource.NewQuantity(pages.PageBytes*pages.Count, resource.BinarySI)
	}
	return out
}

func (r Resources) pods(cores int64) int64 {
	if r.PodsPerCore > 0 {
		return min(cores*int64(r.PodsPerCore), int64(r.MaxPods))
	}
	return int64(r.MaxPods)
}

// reserved is what pods may not have: both reservations and the hard eviction
// thresholds. More than there is of something is an error.
func (r Resources) reserved(m Machine, capacity v1.ResourceList) (v1.ResourceList, error) {
	kube, system, err := r.reservations(m)
	if err != nil {
		return nil, err
	}
	evict, err := r.thresholds(capacity)
	if err != nil {
		return nil, err
	}
	out := v1.ResourceList{}
	var broken []string
	for name, has := range capacity {
		sum := resource.NewQuantity(0, resource.DecimalSI)
		for _, part := range []v1.ResourceList{system, kube, evict} {
			sum.Add(part[name])
		}
		if name == v1.ResourcePods || sum.IsZero() {
			continue
		}
		if sum.Cmp(has) > 0 {
			broken = append(broken, fmt.Sprintf("%s: %s reserved of %s", name, sum.String(), has.String()))
		}
		out[name] = *sum
	}
	if len(broken) > 0 {
		slices.Sort(broken)
		return nil, fmt.Errorf("kubeReserved, systemReserved and evictionHard together reserve more than the machine has: %s", strings.Join(broken, ", "))
	}
	return out, nil
}

// enforced is what all pods together are limited to: the capacity without both
// reservations.
func (r Resources) enforced(m Machine, capacity v1.ResourceList) (v1.ResourceList, error) {
	kube, system, err := r.reservations(m)
	if err != nil {
		return nil, err
	}
	out := v1.ResourceList{}
	for name, has := range capacity {
		if name != v1.ResourcePods {
			out[name] = less(less(has, system[name]), kube[name])
		}
	}
	return out, nil
}

// reservations are kubeReserved and systemReserved, with reservedSystemCPUs in
// place of their cpu.
func (r Resources) reservations(m Machine) (kube, system v1.ResourceList, err error) {
	if kube, err = Reservation("kubeReserved", r.KubeReserved); err != nil {
		return nil, nil, err
	}
	if system, err = Reservation("systemReserved", r.SystemReserved); err != nil {
		return nil, nil, err
	}
	if r.ReservedSystemCPUs == "" {
		return kube, system, nil
	}
	cpus, err := cpuset.Parse(r.ReservedSystemCPUs)
	if err != nil {
		return nil, nil, fmt.Errorf("reservedSystemCPUs %q: %w", r.ReservedSystemCPUs, err)
	}
	if !cpus.IsSubsetOf(m.CPUs) {
		return nil, nil, fmt.Errorf("reservedSystemCPUs %q: want CPUs that are online: %s", r.ReservedSystemCPUs, m.CPUs)
	}
	if cpus.Size() > 0 {
		delete(kube, v1.ResourceCPU)
		system[v1.ResourceCPU] = *resource.NewQuantity(int64(cpus.Size()), resource.DecimalSI)
	}
	return kube, system, nil
}

// Reservation is what a field of the configuration reserves.
func Reservation(field string, in map[string]string) (v1.ResourceList, error) {
	out := v1.ResourceList{}
	for name, text := range in {
		switch v1.ResourceName(name) {
		case v1.ResourceCPU, v1.ResourceMemory, v1.ResourceEphemeralStorage, resourcePIDs:
		default:
			return nil, fmt.Errorf("%s[%q]: cannot be reserved: want cpu, memory, ephemeral-storage or pid", field, name)
		}
		quantity, err := resource.ParseQuantity(text)
		if err != nil {
			return nil, fmt.Errorf("%s[%q]: %q: %w", field, name, text, err)
		}
		if quantity.Sign() < 0 {
			return nil, fmt.Errorf("%s[%q]: %q: want a quantity that isn't negative", field, name, text)
		}
		if v1.ResourceName(name) == v1.ResourceCPU { // to whole millicores (A-RES-1)
			quantity.SetMilli((quantity.ScaledValue(resource.Micro) + 500) / 1000)
		}
		out[v1.ResourceName(name)] = quantity
	}
	return out, nil
}

// thresholds are the hard eviction thresholds that are a part of the capacity.
func (r Resources) thresholds(capacity v1.ResourceList) (v1.ResourceList, error) {
	out := v1.ResourceList{}
	for signal, name := range map[string]v1.ResourceName{
		"memory.available": v1.ResourceMemory,
		"nodefs.available": v1.ResourceEphemeralStorage,
	} {
		text, set := r.EvictionHard[signal]
		has, known := capacity[name]
		if !set || !known {
			continue
		}
		quantity, err := threshold(text, has)
		if err != nil {
			return nil, fmt.Errorf("evictionHard[%q]: %w", signal, err)
		}
		out[name] = quantity
	}
	return out, nil
}

// threshold is a quantity, or a percentage of what there is. 0% and 100% switch
// a threshold off. Percentages are 32-bit floats as the kubelet's, because the
// same configuration has to give the same allocatable to the byte.
func threshold(text string, has resource.Quantity) (resource.Quantity, error) {
	number, isPercentage := strings.CutSuffix(text, "%")
	if isPercentage {
		percent, err := strconv.ParseFloat(number, 32)
		if err != nil || percent < 0 || percent > 100 {
			return resource.Quantity{}, fmt.Errorf("%q: want a percentage from 0%% to 100%%", text)
		}
		if text == "0%" || text == "100%" {
			return resource.Quantity{}, nil
		}
		return *resource.NewQuantity(int64(float64(has.Value())*float64(float32(percent)/100)), resource.BinarySI), nil
	}
	quantity, err := resource.ParseQuantity(text)
	if err != nil {
		return resource.Quantity{}, fmt.Errorf("%q: %w", text, err)
	}
	if quantity.Sign() <= 0 {
		return resource.Quantity{}, fmt.Errorf("%q: want a quantity above zero", text)
	}
	return quantity, nil
}

// setAllocatable puts into status what pods may have of its capacity. Capacity
// that others have put there (extended resources) is allocatable in full.
func setAllocatable(status *v1.NodeStatus, reserved v1.ResourceList) {
	if status.Allocatable == nil {
		status.Allocatable = v1.ResourceList{}
	}
	for name := range status.Allocatable {
		if _, has := status.Capacity[name]; !has && admit.IsExtended(name) {
			delete(status.Allocatable, name)
		}
	}
	for name, has := range status.Capacity {
		status.Allocatable[name] = less(has, reserved[name])
	}
	// Reserved huge pages are no memory for anything else.
	for name, has := range status.Capacity {
		if isHugePages(name) {
			status.Allocatable[v1.ResourceMemory] = less(status.Allocatable[v1.ResourceMemory], has)
		}
	}
}

// less is a − b, never negative.
func less(a, b resource.Quantity) resource.Quantity {
	out := a.DeepCopy()
	out.Sub(b)
	if out.Sign() < 0 {
		out.Set(0)
	}
	return out
}

func isHugePages(name v1.ResourceName) bool {
	return strings.HasPrefix(string(name), v1.ResourceHugePagesPrefix)
}
