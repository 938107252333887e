package admit

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/lifepod/lifepod/internal/assert"
)

func podWith(change func(*v1.Pod)) *v1.Pod {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web", Labels: map[string]string{}, Annotations: map[string]string{}}}
	pod.Spec.SecurityContext = &v1.PodSecurityContext{}
	pod.Spec.Containers = []v1.Container{{Name: "main", SecurityContext: &v1.SecurityContext{}}}
	change(pod)
	return pod
}

func quantities(texts map[v1.ResourceName]string) v1.ResourceList {
	out := v1.ResourceList{}
	for name, text := range texts {
		out[name] = resource.MustParse(text)
	}
	return out
}

func testHost(t *testing.T) Host {
	sysctls := assert.Get(AllowSysctls("6.18.0", []string{"net.core.*"})).Must(t)
	return Host{
		Allocatable: quantities(map[v1.ResourceName]string{"cpu": "2", "memory": "1Gi", "hugepages-2Mi": "4Mi"}),
		Sysctls:     sysctls,
	}
}

func TestCheck(t *testing.T) {
	const noAppArmor = "Cannot enforce AppArmor: AppArmor is not enabled on the host"
	requests := func(name v1.ResourceName, text string) func(*v1.Pod) {
		return func(p *v1.Pod) {
			p.Spec.Containers[0].Resources.Requests = quantities(map[v1.ResourceName]string{name: text})
		}
	}
	tests := []struct {
		name string
		pod  func(*v1.Pod)
		want *Refusal
	}{
		{"a plain pod", func(*v1.Pod) {}, nil},
		{"A-ADM-4 all that there is", requests("cpu", "2"), nil},
		{"A-ADM-4 cpu", requests("cpu", "2500m"), &Refusal{"OutOfcpu", "Node didn't have enough resource: cpu, requested: 2500, used: 0, capacity: 2000"}},
		{"A-ADM-4 memory", requests("memory", "2Gi"), &Refusal{"OutOfmemory", "Node didn't have enough resource: memory, requested: 2147483648, used: 0, capacity: 1073741824"}},
		{"A-ADM-4 huge pages", requests("hugepages-2Mi", "6Mi"), &Refusal{"OutOfhugepages-2Mi", "Node didn't have enough resource: hugepages-2Mi, requested: 6291456, used: 0, capacity: 4194304"}},
		{"A-ADM-4 huge pages of a size that there is not", requests("hugepages-1Gi", "1Gi"), &Refusal{"OutOfhugepages-1Gi", "Node didn't have enough resource: hugepages-1Gi, requested: 1073741824, used: 0, capacity: 0"}},
		{"A-ADM-5 devices that the node does not know", requests("nvidia.com/gpu", "1"), nil},
		{"disk space that the node does not count", requests("ephemeral-storage", "1Ti"), nil},
		{"A-ADM-4 with overhead", func(p *v1.Pod) {
			requests("cpu", "1900m")(p)
			p.Spec.Overhead = quantities(map[v1.ResourceName]string{"cpu": "200m"})
		}, &Refusal{"OutOfcpu", "Node didn't have enough resource: cpu, requested: 2100, used: 0, capacity: 2000"}},
		{"A-ADM-4 os", func(p *v1.Pod) { p.Spec.OS = &v1.PodOS{Name: v1.Windows} }, &Refusal{"PodOSNotSupported", "Failed to admit pod as the OS field doesn't match node OS"}},
		{"A-ADM-4 os label", func(p *v1.Pod) { p.Labels["kubernetes.io/os"] = "windows" }, &Refusal{"PodOSSelectorNodeLabelDoesNotMatch", "Failed to admit pod as the `kubernetes.io/os` label doesn't match node label"}},
		{"the right os", func(p *v1.Pod) {
			p.Labels["kubernetes.io/os"], p.Spec.OS = "linux", &v1.PodOS{Name: v1.Linux}
		}, nil},
		{"A-ADM-4 groups policy", func(p *v1.Pod) {
			p.Spec.SecurityContext.SupplementalGroupsPolicy = ptr.To(v1.SupplementalGroupsPolicyStrict)
		}, &Refusal{"SupplementalGroupsPolicyNotSupported", "SupplementalGroupsPolicy=Strict is not supported in this node"}},
		{"groups policy Merge", func(p *v1.Pod) {
			p.Spec.SecurityContext.SupplementalGroupsPolicy = ptr.To(v1.SupplementalGroupsPolicyMerge)
		}, nil},
		{"A-ADM-4 AppArmor of the pod", func(p *v1.Pod) {
			p.Spec.SecurityContext.AppArmorProfile = &v1.AppArmorProfile{Type: v1.AppArmorProfileTypeRuntimeDefault}
			p.Spec.Containers[0].SecurityContext.AppArmorProfile = &v1.AppArmorProfile{Type: v1.AppArmorProfileTypeUnconfined}
		}, &Refusal{"AppArmor", noAppArmor}},
		{"A-ADM-4 AppArmor of a container", func(p *v1.Pod) {
			p.Spec.Containers[0].SecurityContext.AppArmorProfile = &v1.AppArmorProfile{Type: v1.AppArmorProfileTypeLocalhost, LocalhostProfile: new("p")}
		}, &Refusal{"AppArmor", noAppArmor}},
		{"A-ADM-4 AppArmor by annotation", func(p *v1.Pod) {
			p.Annotations["container.apparmor.security.beta.kubernetes.io/main"] = "localhost/p"
		}, &Refusal{"AppArmor", noAppArmor}},
		{"the longest name of which a folder can be made", func(p *v1.Pod) {
			p.Namespace, p.Name, p.UID = strings.Repeat("n", 63), strings.Repeat("p", 154), types.UID(strings.Repeat("u", 36))
		}, nil},
		{"A-ADM-9 a longer name", func(p *v1.Pod) {
			p.Namespace, p.Name, p.UID = strings.Repeat("n", 63), strings.Repeat("p", 155), types.UID(strings.Repeat("u", 36))
		}, &Refusal{"NameTooLong", "namespace and name have 218 characters together, 217 is the max: the folder of the pod's logs is called <namespace>_<name>_<uid>, and no file name is longer than 255"}},
		{"unconfined needs no AppArmor", func(p *v1.Pod) {
			p.Annotations["container.apparmor.security.beta.kubernetes.io/main"] = "unconfined"
		}, nil},
		{"A-DRA-1 A-ADM-4 resource claims", func(p *v1.Pod) {
			p.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: new("gpu")}}
		}, &Refusal{"PodFeatureUnsupported", "Pod requires node features that are not available: DynamicResourceAllocation"}},
		{"A-DRA-1 A-ADM-4 resource claims of the scheduler's", func(p *v1.Pod) {
			p.Status.ExtendedResourceClaimStatus = &v1.PodExtendedResourceClaimStatus{ResourceClaimName: "gpu"}
		}, &Refusal{"PodFeatureUnsupported", "Pod requires node features that are not available: DynamicResourceAllocation"}},
		{"A-ADM-1 sysctls come first", func(p *v1.Pod) {
			requests("cpu", "3")(p)
			p.Spec.SecurityContext.Sysctls = []v1.Sysctl{{Name: "kernel.msgmax"}}
		}, &Refusal{"SysctlForbidden", `forbidden sysctl: "kernel.msgmax" not allowlisted`}},
		{"A-ADM-6 the value of a sysctl as the kernel prints it", func(p *v1.Pod) {
			p.Spec.SecurityContext.Sysctls = []v1.Sysctl{{Name: "net.ipv4.tcp_rmem", Value: "4096\t131072\t6291456\n"}}
		}, nil},
		{"A-ADM-6 the value of a sysctl with a NUL", func(p *v1.Pod) {
			p.Spec.SecurityContext.Sysctls = []v1.Sysctl{
				{Name: "kernel.shm_rmid_forced", Value: "1"}, {Name: "net.ipv4.ip_unprivileged_port_start", Value: "0\x00/etc/passwd\x00x"},
			}
		}, &Refusal{"SysctlForbidden", `forbidden sysctl: "net.ipv4.ip_unprivileged_port_start": spec.securityContext.sysctls[1].value: control character U+0000, want a value as in /proc/sys`}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			assert.Deep(t, "refusal", tc.want, Check(podWith(tc.pod), testHost(t)))
		})
	}
}

// TestCheckOnABetterHost: what the first host refuses, one that can do it takes.
func TestCheckOnABetterHost(t *testing.T) {
	host := testHost(t)
	host.AppArmor, host.SupplementalGroupsPolicy, host.Claims = true, true, true
	pod := podWith(func(p *v1.Pod) {
		p.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: new("gpu")}}
		p.Spec.SecurityContext.SupplementalGroupsPolicy = ptr.To(v1.SupplementalGroupsPolicyStrict)
		p.Spec.SecurityContext.AppArmorProfile = &v1.AppArmorProfile{Type: v1.AppArmorProfileTypeRuntimeDefault}
	})
	got := Check(pod, host)
	assert.True(t, got == nil, "refused: %v", got)
	pod.Annotations["kubernetes.io/config.source"] = "file"
	got = Check(pod, host)
	assert.True(t, got != nil && got.Reason == "PodFeatureUnsupported", "a static pod with claims: %v (A-DRA-1)", got)
}

func TestLacksSELinux(t *testing.T) {
	options := &v1.SELinuxOptions{Level: "s0"}
	ofPod := podWith(func(p *v1.Pod) { p.Spec.SecurityContext.SELinuxOptions = options })
	ofContainer := podWith(func(p *v1.Pod) { p.Spec.Containers[0].SecurityContext.SELinuxOptions = options })
	for name, tc := range map[string]struct {
		pod     *v1.Pod
		selinux bool
		want    bool
	}{
		"pod": {ofPod, false, true}, "container": {ofContainer, false, true}, "enforced": {ofPod, true, false},
		"not asked for": {podWith(func(*v1.Pod) {}), false, false},
	} {
		assert.Equal(t, tc.want, LacksSELinux(tc.pod, Host{SELinux: tc.selinux}), name)
	}
}
