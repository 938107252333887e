package register

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// providedIP is an annotation for external cloud providers, which lifepod
// doesn't work with; one that a kubelet has left is stale.
const providedIP = "alpha.kubernetes.io/provided-node-ip"

// facts are what the status says at one moment.
type facts struct {
	machine   Machine
	capacity  v1.ResourceList
	reserved  v1.ResourceList
	addresses []v1.NodeAddress // nil when they could not be found
	runtime   runtimeState
	images    []v1.ContainerImage
	declared  []string
}

// describe writes the facts into a Node's status and leaves alone what belongs
// to others there. It returns the events of what has changed by it.
func (c *Config) describe(node *v1.Node, f *facts, now time.Time) []event {
	delete(node.Annotations, providedIP)
	if f.addresses != nil {
		node.Status.Addresses = f.addresses
	}
	events := f.setMachine(node)
	devices, usable := c.Senses.Devices()
	maps.Copy(node.Status.Capacity, devices)
	maps.Copy(node.Status.Allocatable, usable)
	metav1.SetMetaDataLabel(&node.ObjectMeta, v1.LabelOSStable, runtime.GOOS)
	metav1.SetMetaDataLabel(&node.ObjectMeta, v1.LabelArchStable, runtime.GOARCH)
	node.Status.DaemonEndpoints = v1.NodeDaemonEndpoints{KubeletEndpoint: v1.DaemonEndpoint{Port: c.Port}}
	node.Status.Images, node.Status.VolumesInUse = f.images, c.Senses.VolumesInUse()
	f.setRuntime(&node.Status)

	senses := c.Senses
	for _, p := range pressures {
		events = append(events, p.set(node, senses.Pressure(p.condition), now)...)
	}
	runtimeErr, networkErr := f.runtime.notReady(now)
	events = append(events, setReady(node, []error{
		runtimeErr, networkErr, senses.NotReady(),
		missingCapacity(node.Status.Capacity, !c.Resources.WithoutEphemeralStorage),
	}, now)...)
	return events
}

func (f *facts) setMachine(node *v1.Node) (events []event) {
	status, info := &node.Status, &node.Status.NodeInfo
	if status.Capacity == nil {
		status.Capacity = v1.ResourceList{}
	}
	maps.Copy(status.Capacity, f.capacity)
	setAllocatable(status, f.reserved)

	if info.BootID != "" && info.BootID != f.machine.BootID {
		events = append(events, event{v1.EventTypeWarning, "Rebooted",
			fmt.Sprintf("Node %s has been rebooted, boot id: %s", node.Name, f.machine.BootID)})
	}
	info.MachineID, info.SystemUUID, info.BootID = f.machine.MachineID, f.machine.SystemUUID, f.machine.BootID
	info.KernelVersion, info.OSImage = f.machine.Kernel, f.machine.OSImage
	info.KubeletVersion = Version
	info.KubeProxyVersion = "" //nolint:staticcheck // deprecated, and cleared as the kubelet does: an older one may have set it
	info.OperatingSystem, info.Architecture = runtime.GOOS, runtime.GOARCH
	info.RunningInUserNamespace = &f.machine.InUserNamespace
	info.Swap = nil
	if f.machine.SwapBytes != 0 {
		info.Swap = &v1.NodeSwapStatus{Capacity: &f.machine.SwapBytes}
	}
	return events
}

// setRuntime writes what the runtime has said; before its first answer the
// status keeps what an earlier agent has written.
func (f *facts) setRuntime(status *v1.NodeStatus) {
	switch {
	case f.runtime.version != "":
		status.NodeInfo.ContainerRuntimeVersion = f.runtime.version
	case status.NodeInfo.ContainerRuntimeVersion == "":
		status.NodeInfo.ContainerRuntimeVersion = "containerd://Unknown"
	}
	if !f.runtime.answered {
		return
	}
	status.RuntimeHandlers = f.runtime.handlers
	if features := f.runtime.features; features != nil {
		status.Features = &v1.NodeFeatures{SupplementalGroupsPolicy: &features.SupplementalGroupsPolicy}
	}
	status.DeclaredFeatures = f.declared
}

// differs says whether a Node is another than before in what the reporter
// writes; the time of heartbeats doesn't count.
func differs(before, after *v1.Node) bool {
	return before.Labels[v1.LabelOSStable] != after.Labels[v1.LabelOSStable] ||
		before.Labels[v1.LabelArchStable] != after.Labels[v1.LabelArchStable] ||
		!apiequality.Semantic.DeepEqual(comparable(before), comparable(after))
}

// comparable is a status with its conditions in one order and without their
// heartbeats.
func comparable(node *v1.Node) v1.NodeStatus {
	out := node.Status
	out.Conditions = slices.Clone(node.Status.Conditions)
	slices.SortStableFunc(out.Conditions, func(a, b v1.NodeCondition) int {
		return strings.Compare(string(a.Type), string(b.Type))
	})
	for i := range out.Conditions {
		out.Conditions[i].LastHeartbeatTime = metav1.Time{}
	}
	return out
}
