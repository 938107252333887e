package admit

import (
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/assert"
)

func TestAdmit(t *testing.T) {
	const prefix = "Node didn't have enough resource: "
	other := func(requests string, changes ...change) []*v1.Pod {
		return []*v1.Pod{testPod("other", requests, changes...)}
	}
	taint := func(effect v1.TaintEffect) func(*v1.Node) {
		return func(n *v1.Node) { n.Spec.Taints = []v1.Taint{{Key: "k", Value: "v", Effect: effect}} }
	}
	untouched := func(*v1.Node) {}
	tests := []struct {
		name   string
		pod    *v1.Pod
		others []*v1.Pod
		node   func(*v1.Node)
		want   *Refusal
	}{
		{"A-ADM-4 what is left", testPod("p", "cpu=500m memory=1Gi"), other("cpu=1500m"), untouched, nil},
		{"A-ADM-4 cpu", testPod("p", "cpu=1"), other("cpu=1500m"), untouched, &Refusal{Reason: "OutOfcpu", Message: prefix + "cpu, requested: 1000, used: 1500, capacity: 2000"}},
		{"A-ADM-4 memory", testPod("p", "memory=768Mi"), other("memory=512Mi"), untouched, &Refusal{Reason: "OutOfmemory", Message: prefix + "memory, requested: 805306368, used: 536870912, capacity: 1073741824"}},
		{"A-ADM-4 pods", testPod("p", ""), []*v1.Pod{testPod("1", ""), testPod("2", ""), testPod("3", "")}, untouched, &Refusal{Reason: "OutOfpods", Message: prefix + "pods, requested: 1, used: 3, capacity: 3"}},
		{"A-ADM-4 storage", testPod("p", "ephemeral-storage=11Gi"), nil, untouched, &Refusal{Reason: "OutOfephemeral-storage", Message: prefix + "ephemeral-storage, requested: 11811160064, used: 0, capacity: 10737418240"}},
		{"A-ADM-4 storage that the node has none of", testPod("p", "ephemeral-storage=1Ki"), nil, func(n *v1.Node) { delete(n.Status.Allocatable, "ephemeral-storage") }, &Refusal{Reason: "OutOfephemeral-storage", Message: prefix + "ephemeral-storage, requested: 1024, used: 0, capacity: 0"}},
		{"A-ADM-4 huge pages", testPod("p", "hugepages-1Gi=1Gi"), nil, untouched, &Refusal{Reason: "OutOfhugepages-1Gi", Message: prefix + "hugepages-1Gi, requested: 1073741824, used: 0, capacity: 0"}},
		{"A-ADM-4 devices", testPod("p", "example.com/gpu=2"), other("example.com/gpu=1"), untouched, &Refusal{Reason: "OutOfexample.com/gpu", Message: prefix + "example.com/gpu, requested: 2, used: 1, capacity: 2"}},
		{"A-ADM-5 devices that the node does not know", testPod("p", "example.org/fpga=2"), nil, untouched, nil},
		{"A-ADM-5 devices that the node had", testPod("p", "example.org/fpga=2"), nil, func(n *v1.Node) { n.Status.Allocatable["example.org/fpga"] = list("n=0")["n"] }, &Refusal{Reason: "OutOfexample.org/fpga", Message: prefix + "example.org/fpga, requested: 2, used: 0, capacity: 0"}},
		{"A-ADM-5 devices that DRA gives", testPod("p", "example.com/gpu=3", func(p *v1.Pod) {
			p.Status.ExtendedResourceClaimStatus = &v1.PodExtendedResourceClaimStatus{RequestMappings: []v1.ContainerExtendedResourceRequest{{ContainerName: "main", ResourceName: "example.com/gpu"}}}
		}), nil, untouched, nil},
		{"a pod that asks for nothing fits a full node", testPod("p", ""), other("cpu=3 memory=2Gi"), untouched, nil},
		{"what is not asked for may be used up", testPod("p", "memory=1Mi"), other("cpu=3"), untouched, nil},
		{"itself does not count", testPod("p", "cpu=2"), []*v1.Pod{testPod("p", "cpu=2")}, untouched, nil},
		{"pods come before cpu", testPod("p", "cpu=3"), []*v1.Pod{testPod("1", ""), testPod("2", ""), testPod("3", "")}, untouched, &Refusal{Reason: "OutOfpods", Message: prefix + "pods, requested: 1, used: 3, capacity: 3"}},
		{"overhead", testPod("p", "cpu=1", func(p *v1.Pod) { p.Spec.Overhead = list("cpu=250m") }), other("cpu=500m", func(p *v1.Pod) { p.Spec.Overhead = list("cpu=500m") }), untouched, &Refusal{Reason: "OutOfcpu", Message: prefix + "cpu, requested: 1250, used: 1000, capacity: 2000"}},
		{"sidecars beside init containers", testPod("p", "cpu=100m", func(p *v1.Pod) {
			p.Spec.InitContainers = []v1.Container{sidecar("s", "cpu=300m"), initContainer("i", "cpu=1800m")}
		}), nil, untouched, &Refusal{Reason: "OutOfcpu", Message: prefix + "cpu, requested: 2100, used: 0, capacity: 2000"}},
		{"the pod's own resources", testPod("p", "cpu=100m", func(p *v1.Pod) { p.Spec.Resources = &v1.ResourceRequirements{Requests: list("cpu=2100m")} }), nil, untouched, &Refusal{Reason: "OutOfcpu", Message: prefix + "cpu, requested: 2100, used: 0, capacity: 2000"}},
		{"a resize that is not carried out yet holds the greater", testPod("p", "cpu=1"), other("cpu=500m", func(p *v1.Pod) {
			p.Status.ContainerStatuses = []v1.ContainerStatus{{Name: "main", AllocatedResources: list("cpu=500m"), Resources: &v1.ResourceRequirements{Requests: list("cpu=1500m")}}}
		}), untouched, &Refusal{Reason: "OutOfcpu", Message: prefix + "cpu, requested: 1000, used: 1500, capacity: 2000"}},
		{"A-ADM-4 node selector", testPod("p", "", func(p *v1.Pod) { p.Spec.NodeSelector = map[string]string{"disk": "hdd"} }), nil, untouched, &Refusal{Reason: "NodeAffinity", Message: "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector"}},
		{"a node selector that matches", testPod("p", "", func(p *v1.Pod) { p.Spec.NodeSelector = map[string]string{"disk": "ssd"} }), nil, untouched, nil},
		{"A-ADM-4 node affinity of static pods, too", testPod("p", "", static, func(p *v1.Pod) {
			p.Spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{
				NodeSelectorTerms: []v1.NodeSelectorTerm{{MatchFields: []v1.NodeSelectorRequirement{{Key: "metadata.name", Operator: v1.NodeSelectorOpIn, Values: []string{"n2"}}}}},
			}}}
		}), nil, untouched, &Refusal{Reason: "NodeAffinity", Message: "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector"}},
		{"A-ADM-4 name", testPod("p", "", func(p *v1.Pod) { p.Spec.NodeName = "n2" }), nil, untouched, &Refusal{Reason: "NodeName", Message: "Predicate NodeName failed: node(s) didn't match the requested node name"}},
		{"A-ADM-4 ports", testPod("p", "", withPort("", "", 80)), other("", withPort("10.0.0.1", "TCP", 80)), untouched, &Refusal{Reason: "NodePorts", Message: "Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports"}},
		{"ports of a sidecar", testPod("p", "", withPort("", "", 80)), other("", func(p *v1.Pod) {
			s := sidecar("s", "")
			s.Ports = []v1.ContainerPort{{HostPort: 80}}
			p.Spec.InitContainers = []v1.Container{s}
		}), untouched, &Refusal{Reason: "NodePorts", Message: "Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports"}},
		{"ports of an init container", testPod("p", "", withPort("", "", 80)), other("", func(p *v1.Pod) {
			p.Spec.InitContainers = []v1.Container{{Name: "i", Ports: []v1.ContainerPort{{HostPort: 80}}}}
		}), untouched, nil},
		{"ports of another protocol", testPod("p", "", withPort("", "UDP", 80)), other("", withPort("", "TCP", 80)), untouched, nil},
		{"ports of another address", testPod("p", "", withPort("10.0.0.2", "TCP", 80)), other("", withPort("10.0.0.1", "TCP", 80)), untouched, nil},
		{"A-ADM-4 taint", testPod("p", ""), nil, taint(v1.TaintEffectNoExecute), &Refusal{Reason: "TaintToleration", Message: "Predicate TaintToleration failed: node(s) had taints that the pod didn't tolerate"}},
		{"A-ADM-4 static pods tolerate", testPod("p", "", static), nil, taint(v1.TaintEffectNoExecute), nil},
		{"A-ADM-4 the scheduler's taint", testPod("p", ""), nil, taint(v1.TaintEffectNoSchedule), nil},
		{"a toleration", testPod("p", "", func(p *v1.Pod) { p.Spec.Tolerations = []v1.Toleration{{Key: "k", Operator: v1.TolerationOpExists}} }), nil, taint(v1.TaintEffectNoExecute), nil},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			node := testNode()
			tc.node(node)
			var got *Refusal
			if failures := Failures(tc.pod, Beside(tc.pod, tc.others), node); len(failures) > 0 {
				got = failures[0].Refusal()
			}
			assert.Deep(t, "rejection", tc.want, got)
		})
	}
}

// TestFailuresAreAllReported: A-ADM-4, in the order of Kubernetes.
func TestFailuresAreAllReported(t *testing.T) {
	pod := testPod("p", "cpu=3 memory=2Gi example.com/gpu=3 hugepages-2Mi=8Mi", func(p *v1.Pod) {
		p.Spec.NodeSelector, p.Spec.NodeName = map[string]string{"a": "b"}, "n2"
	})
	node := testNode()
	node.Spec.Taints = []v1.Taint{{Key: "k", Effect: v1.TaintEffectNoExecute}}
	want := []Failure{
		{Resource: "cpu", Requested: 3000, Used: 500, Capacity: 2000},
		{Resource: "memory", Requested: 2 << 30, Capacity: 1 << 30},
		{Resource: "example.com/gpu", Requested: 3, Capacity: 2},
		{Resource: "hugepages-2Mi", Requested: 8 << 20, Capacity: 4 << 20},
		noAffinity, noName, noToleration,
	}
	assert.Deep(t, "failures", want, Failures(pod, Beside(pod, []*v1.Pod{testPod("o", "cpu=500m")}), node))
}
