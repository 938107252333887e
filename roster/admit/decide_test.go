package admit

import (
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/assert"
)

func apparmor(p *v1.Pod) {
	p.Spec.SecurityContext = &v1.PodSecurityContext{AppArmorProfile: &v1.AppArmorProfile{Type: v1.AppArmorProfileTypeRuntimeDefault}}
}

func TestDecide(t *testing.T) {
	sysctl := func(p *v1.Pod) {
		p.Spec.SecurityContext = &v1.PodSecurityContext{Sysctls: []v1.Sysctl{{Name: "kernel.msgmax"}}}
	}
	elsewhere := func(p *v1.Pod) { p.Spec.NodeSelector = map[string]string{"disk": "hdd"} }
	full := []*v1.Pod{testPod("full", "cpu=2")}
	outOfCPU := &Refusal{Reason: "OutOfcpu", Message: "Node didn't have enough resource: cpu, requested: 1000, used: 2000, capacity: 2000"}
	noLabel := &Refusal{Reason: "NodeAffinity", Message: "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector"}
	appArmor := &Refusal{Reason: "AppArmor", Message: "Cannot enforce AppArmor: AppArmor is not enabled on the host"}
	type answer struct {
		Refusal *Refusal
		Victims []string
		Missing v1.ResourceName
		Relabel bool
	}
	tests := []struct {
		name   string
		pod    *v1.Pod
		others []*v1.Pod
		node   *v1.Node
		want   answer
	}{
		{"a plain pod", testPod("p", "cpu=1"), nil, testNode(), answer{}},
		{"A-ADM-1 sysctls come before the node", testPod("p", "cpu=1", sysctl), full, nil, answer{Refusal: &Refusal{Reason: "SysctlForbidden", Message: `forbidden sysctl: "kernel.msgmax" not allowlisted`}}},
		{"A-ADM-4 no node", testPod("p", ""), nil, nil, answer{Refusal: &Refusal{Reason: "InvalidNodeInfo", Message: "Kubelet cannot get node info."}}},
		{"A-ADM-4 the system comes before resources", testPod("p", "cpu=1", func(p *v1.Pod) { p.Spec.OS = &v1.PodOS{Name: v1.Windows} }), full, testNode(), answer{Refusal: &Refusal{Reason: "PodOSNotSupported", Message: "Failed to admit pod as the OS field doesn't match node OS"}}},
		{"A-ADM-1 resources come before AppArmor", testPod("p", "cpu=1", apparmor), full, testNode(), answer{Refusal: outOfCPU}},
		{"A-ADM-4 AppArmor", testPod("p", "cpu=1", apparmor), nil, testNode(), answer{Refusal: appArmor}},
		{"A-ADM-4 AppArmor of a pod that runs", testPod("p", "cpu=1", apparmor, func(p *v1.Pod) { p.Status.Phase = v1.PodRunning }), nil, testNode(), answer{}},
		{"A-ADM-4 labels may be read again", testPod("p", "", elsewhere), nil, testNode(), answer{Refusal: noLabel, Relabel: true}},
		{"A-ADM-4 labels are not all", testPod("p", "cpu=1", elsewhere), full, testNode(), answer{Refusal: outOfCPU}},
		{"B-PRE-1 a critical pod preempts", testPod("p", "cpu=1", withPriority(systemCritical)), full, testNode(), answer{Victims: []string{"full"}, Missing: "cpu"}},
		{"B-PRE-1 a mirror pod preempts", testPod("p", "cpu=1", func(p *v1.Pod) { p.Annotations["kubernetes.io/config.mirror"] = "x" }), full, testNode(), answer{Victims: []string{"full"}, Missing: "cpu"}},
		{"B-PRE-2 the first resource that is missing", testPod("p", "cpu=1 memory=1Gi", withPriority(systemCritical)), []*v1.Pod{testPod("full", "cpu=2 memory=1Gi")}, testNode(), answer{Victims: []string{"full"}, Missing: "cpu"}},
		{"B-PRE-1 an ordinary pod does not", testPod("p", "cpu=1", withPriority(systemCritical-1)), full, testNode(), answer{Refusal: outOfCPU}},
		{"B-PRE-1 only if resources are all that is missing", testPod("p", "cpu=1", static, elsewhere), full, testNode(), answer{Refusal: noLabel}},
		{"B-PRE-1 nobody goes for a pod that is rejected all the same", testPod("p", "cpu=1", static, apparmor), full, testNode(), answer{Refusal: appArmor}},
		{"B-PRE-1 nobody can go", testPod("p", "cpu=1", static), []*v1.Pod{testPod("full", "cpu=2", static)}, testNode(), answer{Refusal: &Refusal{
			Reason:  "UnexpectedAdmissionError",
			Message: "Unexpected error while attempting to recover from admission failure: preemption: error finding a set of pods to preempt: no set of running pods found to reclaim resources: [(res: cpu, q: 1000), ]",
		}}},
		{"A-ADM-4 features", testPod("p", "", func(p *v1.Pod) { p.Spec.HostNetwork, p.Spec.HostUsers = true, new(false) }), nil, testNode(), answer{Refusal: &Refusal{
			Reason: "PodFeatureUnsupported", Message: "Pod requires node features that are not available: UserNamespacesHostNetworkSupport",
		}}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			got := Decide(tc.pod, Beside(tc.pod, tc.others), tc.node, Host{})
			assert.Deep(t, "answer", tc.want, answer{got.Refusal, names(got.Victims), got.Missing, got.Relabel})
		})
	}
}
