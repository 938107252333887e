package criconfig

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/inf.v0"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/worker/podcgroup"
)

// linuxResources converts requests and limits (A-CRI-7, A-CRI-8, A-CRI-11). A
// limit without a request is the request too. With CPUs of their own the limit of CPU is not
// enforced (A-NUMA-18).
func linuxResources(node Node, ownCPUs bool, requests, limits v1.ResourceList) *runtimeapi.LinuxContainerResources {
	request, found := requests[v1.ResourceCPU]
	if !found {
		request = limits[v1.ResourceCPU]
	}
	out := &runtimeapi.LinuxContainerResources{
		CpuShares:          int64(podcgroup.CPUShares(request.MilliValue())),
		MemoryLimitInBytes: limits.Memory().Value(),
	}
	if !node.CPULimits.Off {
		out.CpuPeriod, out.CpuQuota = node.CPULimits.PeriodMicroseconds(), node.CPULimits.Quota(limits.Cpu().MilliValue())
		if ownCPUs {
			out.CpuQuota = podcgroup.NoQuota
		}
	}
	if node.CgroupV2 && !node.SingleProcessOOMKill {
		out.Unified = map[string]string{"memory.oom.group": "1"}
	}
	return out
}

// Resources are a container's values: limits it does not set are the pod's.
func Resources(node Node, pod *v1.Pod, container *v1.Container) *runtimeapi.LinuxContainerResources {
	var podLimits v1.ResourceList
	if pod.Spec.Resources != nil {
		podLimits = pod.Spec.Resources.Limits
	}
	limits := v1.ResourceList{}
	for _, name := range []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory} {
		limits[name] = container.Resources.Limits[name]
		if own := limits[name]; own.IsZero() {
			limits[name] = podLimits[name]
		}
	}
	out := linuxResources(node, node.CPULimits.Own(pod, container.Name), container.Resources.Requests, limits)
	out.OomScoreAdj = podcgroup.OOMScoreAdjust(pod, container, node.MemoryBytes)
	out.HugepageLimits = hugepageLimits(node, podLimits, container.Resources.Limits)
	unified := map[string]string{}
	if node.CgroupV2 {
		maps.Copy(unified, node.MemoryQoS.OfContainer(pod, container))
	}
	switch {
	case !node.SwapLimit:
	case node.CgroupV2:
		unified["memory.swap.max"] = strconv.FormatInt(swapLimit(node, pod, container), 10)
	default: // memory and swap together
		out.MemorySwapLimitInBytes = out.MemoryLimitInBytes
	}
	if out.Unified == nil && len(unified) > 0 {
		out.Unified = unified
	}
	maps.Copy(out.Unified, unified)
	return out
}

// hugepageLimits has every page size of the host, with 0 where neither the
// container nor the pod has a limit.
func hugepageLimits(node Node, pod, container v1.ResourceList) []*runtimeapi.HugepageLimit {
	limits := podcgroup.HugePages(pod)
	maps.Copy(limits, podcgroup.HugePages(container))
	var out []*runtimeapi.HugepageLimit
	for _, size := range node.HugePageSizes {
		out = append(out, &runtimeapi.HugepageLimit{PageSize: size, Limit: limits[size]})
	}
	return out
}

// swapLimit is a container's part of the host's swap on cgroup v2: the part that its
// request is of the host's memory, if it may have more memory than that (A-CRI-11).
func swapLimit(node Node, pod *v1.Pod, container *v1.Container) int64 {
	request := container.Resources.Requests.Memory()
	if !node.LimitedSwap || !lifecycle.MaySwap(pod, container) || request.Value() > node.MemoryBytes || node.MemoryBytes <= 0 {
		return 0
	}
	return int64(float64(request.Value()) / float64(node.MemoryBytes) * float64(node.SwapBytes))
}

// resource reads a resourceFieldRef (A-ENV-8): the quantity divided by the
// divisor, rounded up. A limit that the container does not set is the pod's,
// else what the node can allocate; a request that is not set is 0.
func (b *builder) resource(ref *v1.ResourceFieldSelector) (string, error) {
	container, err := b.containerNamed(ref.ContainerName)
	if err != nil {
		return "", err
	}
	kind, name, _ := strings.Cut(ref.Resource, ".")
	if !supportedResource(v1.ResourceName(name)) {
		return "", fmt.Errorf("unsupported container resource : %v", ref.Resource)
	}
	var quantity resource.Quantity
	switch kind {
	case "requests":
		quantity = container.Resources.Requests[v1.ResourceName(name)]
	case "limits":
		quantity = b.limit(container, v1.ResourceName(name))
	default:
		return "", fmt.Errorf("unsupported container resource : %v", ref.Resource)
	}
	return divideUp(quantity, ref.Divisor), nil
}

func (b *builder) containerNamed(name string) (*v1.Container, error) {
	if name == "" || name == b.Container.Name {
		return b.Container, nil
	}
	for _, c := range lifecycle.Containers(b.Pod) {
		if c.Name == name {
			return c, nil
		}
	}
	return nil, fmt.Errorf("container %s not found", name)
}

// limit is a container's limit with its defaults. Hugepages have none: they are
// never overcommitted, so a container that may use them says so. Ephemeral
// storage has no pod-level limit.
func (b *builder) limit(container *v1.Container, name v1.ResourceName) resource.Quantity {
	if own := container.Resources.Limits[name]; !own.IsZero() || isHugePages(name) {
		return own
	}
	if pod := b.Pod.Spec.Resources; pod != nil && name != v1.ResourceEphemeralStorage {
		if limit := pod.Limits[name]; !limit.IsZero() {
			return limit
		}
	}
	return b.Allocatable[name]
}

func supportedResource(name v1.ResourceName) bool {
	switch name {
	case v1.ResourceCPU, v1.ResourceMemory, v1.ResourceEphemeralStorage:
		return true
	}
	return isHugePages(name)
}

func isHugePages(name v1.ResourceName) bool {
	return strings.HasPrefix(string(name), v1.ResourceHugePagesPrefix)
}

// divideUp divides exactly, so that values above 2^53 come out right.
func divideUp(quantity, divisor resource.Quantity) string {
	if divisor.IsZero() {
		divisor = *resource.NewQuantity(1, resource.DecimalSI)
	}
	return new(inf.Dec).QuoRound(quantity.AsDec(), divisor.AsDec(), 0, inf.RoundCeil).String()
}

// Assigned is what a container is given of the node by name: devices of device plugins and
// of claims, CPUs and NUMA nodes of its own. The zero value is nothing (A-DEV-1).
type Assigned struct {
	// Env loses against the container's own variables; it is part of Environment already.
	Env         []KeyValue
	Mounts      []*runtimeapi.Mount
	Devices     []*runtimeapi.Device
	Annotations map[string]string
	// CDIDevices are fully qualified names, such as vendor.com/gpu=0.
	CDIDevices []string
	// CPUs and MemoryNodes are lists as in cpuset.cpus and cpuset.mems; empty: not limited.
	CPUs        string
	MemoryNodes string
}

// Add adds what another part of the node has assigned to the same container. What was there
// before counts where both say something.
func (a *Assigned) Add(other Assigned) {
	a.Env = addNew(a.Env, other.Env, func(e KeyValue) string { return e.Name })
	a.Mounts = addNew(a.Mounts, other.Mounts, (*runtimeapi.Mount).GetContainerPath)
	a.Devices = addNew(a.Devices, other.Devices, (*runtimeapi.Device).GetContainerPath)
	a.CDIDevices = addNew(a.CDIDevices, other.CDIDevices, func(name string) string { return name })
	if len(other.Annotations) > 0 {
		all := maps.Clone(other.Annotations)
		maps.Copy(all, a.Annotations)
		a.Annotations = all
	}
	a.CPUs, a.MemoryNodes = cmp.Or(a.CPUs, other.CPUs), cmp.Or(a.MemoryNodes, other.MemoryNodes)
}

// addNew adds those that have another name than all before.
func addNew[T any](list, others []T, name func(T) string) []T {
	for _, one := range others {
		if !slices.ContainsFunc(list, func(has T) bool { return name(has) == name(one) }) {
			list = append(list, one)
		}
	}
	return list
}

// cdiDevices are the names as the runtime takes them.
func (a *Assigned) cdiDevices() []*runtimeapi.CDIDevice {
	var out []*runtimeapi.CDIDevice
	for _, name := range a.CDIDevices {
		out = append(out, &runtimeapi.CDIDevice{Name: name})
	}
	return out
}

// limit keeps a container to the CPUs and NUMA nodes that it was assigned.
func (a *Assigned) limit(resources *runtimeapi.LinuxContainerResources) *runtimeapi.LinuxContainerResources {
	resources.CpusetCpus, resources.CpusetMems = a.CPUs, a.MemoryNodes
	return resources
}
