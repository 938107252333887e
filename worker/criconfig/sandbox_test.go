package criconfig

import (
	"testing"

	"google.golang.org/protobuf/testing/protocmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/utils/ptr"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/worker/podcgroup"
)

func resources(cpu, memory string) v1.ResourceList {
	out := v1.ResourceList{}
	if cpu != "" {
		out[v1.ResourceCPU] = resource.MustParse(cpu)
	}
	if memory != "" {
		out[v1.ResourceMemory] = resource.MustParse(memory)
	}
	return out
}

func runtimeDefault() *runtimeapi.SecurityProfile {
	return &runtimeapi.SecurityProfile{ProfileType: runtimeapi.SecurityProfile_RuntimeDefault}
}

func TestSandbox(t *testing.T) {
	pod := testPod()
	pod.Spec.Containers = []v1.Container{{Name: "main", Resources: v1.ResourceRequirements{Requests: resources("500m", ""), Limits: resources("1", "64Mi")}}}
	pod.Spec.Overhead = resources("250m", "32Mi")
	pod.Spec.SecurityContext = &v1.PodSecurityContext{
		RunAsUser: ptr.To[int64](1000), RunAsGroup: ptr.To[int64](1001), FSGroup: ptr.To[int64](2000), SupplementalGroups: []int64{3000},
		SupplementalGroupsPolicy: ptr.To(v1.SupplementalGroupsPolicyStrict),
		SELinuxOptions:           &v1.SELinuxOptions{Level: "s0"},
		SeccompProfile:           &v1.SeccompProfile{Type: v1.SeccompProfileTypeUnconfined},
		Sysctls:                  []v1.Sysctl{{Name: "net/ipv4/conf/eth0.1/rp_filter", Value: "1"}, {Name: "kernel.shm_rmid_forced", Value: "0"}},
	}
	dns := &runtimeapi.DNSConfig{Servers: []string{"192.0.2.53"}}
	ports := []*runtimeapi.PortMapping{{ContainerPort: 80}}
	got := Sandbox(SandboxInput{
		Node: Node{LogRoot: "/logs"}, Pod: pod, Attempt: 2, CgroupParent: "/kubepods/burstable/poduid-1", Hostname: "web", DNS: dns, PortMappings: ports,
	})
	want := &runtimeapi.PodSandboxConfig{
		Metadata:     &runtimeapi.PodSandboxMetadata{Name: "web", Namespace: "ns", Uid: "uid-1", Attempt: 2},
		Hostname:     "web",
		LogDirectory: "/logs/ns_web_uid-1",
		DnsConfig:    dns,
		PortMappings: ports,
		Labels: map[string]string{
			"app": "shop", "io.kubernetes.pod.name": "web", "io.kubernetes.pod.namespace": "ns", "io.kubernetes.pod.uid": "uid-1",
		},
		Annotations: map[string]string{"note": "hi", "lifepod.dev/node": "n1"},
		Linux: &runtimeapi.LinuxPodSandboxConfig{
			CgroupParent: "/kubepods/burstable/poduid-1",
			Sysctls:      map[string]string{"net.ipv4.conf.eth0/1.rp_filter": "1", "kernel.shm_rmid_forced": "0"},
			Resources:    &runtimeapi.LinuxContainerResources{CpuPeriod: 100_000, CpuShares: 512, CpuQuota: 100_000, MemoryLimitInBytes: 64 << 20},
			Overhead:     &runtimeapi.LinuxContainerResources{CpuPeriod: 100_000, CpuShares: 256, CpuQuota: 25_000, MemoryLimitInBytes: 32 << 20},
			SecurityContext: &runtimeapi.LinuxSandboxSecurityContext{
				NamespaceOptions:         &runtimeapi.NamespaceOption{Pid: runtimeapi.NamespaceMode_CONTAINER, UsernsOptions: &runtimeapi.UserNamespace{Mode: runtimeapi.NamespaceMode_NODE}},
				SelinuxOptions:           &runtimeapi.SELinuxOption{Level: "s0"},
				RunAsUser:                &runtimeapi.Int64Value{Value: 1000},
				RunAsGroup:               &runtimeapi.Int64Value{Value: 1001},
				SupplementalGroups:       []int64{2000, 3000},
				SupplementalGroupsPolicy: runtimeapi.SupplementalGroupsPolicy_Strict,
				Seccomp:                  runtimeDefault(),
			},
		},
	}
	assert.Deep(t, "A-CRI-1, A-CRI-2, A-CRI-4, A-CRI-5, A-SEC-4", want, got, protocmp.Transform())
}

func TestSandboxOfAPlainPod(t *testing.T) {
	pod := testPod()
	pod.Labels, pod.Annotations, pod.Spec.SecurityContext = nil, nil, nil
	got := Sandbox(SandboxInput{Pod: pod})
	assert.True(t, len(got.Labels) == 3 && len(got.Annotations) == 1 && got.Linux.SecurityContext.RunAsUser == nil, "got %v", got)
	assert.Deep(t, "A-CRI-4 overhead", &runtimeapi.LinuxContainerResources{}, got.Linux.Overhead, protocmp.Transform())
}

func TestNamespaces(t *testing.T) {
	const (
		node      = runtimeapi.NamespaceMode_NODE
		inPod     = runtimeapi.NamespaceMode_POD
		container = runtimeapi.NamespaceMode_CONTAINER
		target    = runtimeapi.NamespaceMode_TARGET
	)
	for _, tc := range []struct {
		name              string
		spec              v1.PodSpec
		targetID          string
		network, ipc, pid runtimeapi.NamespaceMode
	}{
		{"defaults", v1.PodSpec{}, "", inPod, inPod, container},
		{"all of the host", v1.PodSpec{HostNetwork: true, HostIPC: true, HostPID: true}, "", node, node, node},
		{"shared processes", v1.PodSpec{ShareProcessNamespace: new(true)}, "", inPod, inPod, inPod},
		{"processes of a container", v1.PodSpec{}, "id-1", inPod, inPod, target},
		{"shared processes need no target", v1.PodSpec{ShareProcessNamespace: new(true)}, "id-1", inPod, inPod, inPod},
	} {
		t.Run("A-CRI-5 "+tc.name, func(t *testing.T) {
			got := containerNamespaces(ContainerInput{Pod: &v1.Pod{Spec: tc.spec}, TargetContainerID: tc.targetID})
			assert.True(t, got.Network == tc.network && got.Ipc == tc.ipc && got.Pid == tc.pid && (got.TargetId != "") == (tc.pid == target),
				"got %v, want %s %s %s", got, tc.network, tc.ipc, tc.pid)
		})
	}
}

func TestSandboxPrivileged(t *testing.T) {
	privileged := &v1.SecurityContext{Privileged: new(true)}
	for name, spec := range map[string]v1.PodSpec{
		"regular":   {Containers: []v1.Container{{}, {SecurityContext: privileged}}},
		"init":      {InitContainers: []v1.Container{{SecurityContext: privileged}}},
		"ephemeral": {EphemeralContainers: []v1.EphemeralContainer{{EphemeralContainerCommon: v1.EphemeralContainerCommon{SecurityContext: privileged}}}},
	} {
		assert.True(t, hasPrivileged(&v1.Pod{Spec: spec}), "A-CRI-4 a privileged %s container is overlooked", name)
	}
	assert.True(t, !hasPrivileged(&v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{{SecurityContext: &v1.SecurityContext{}}}}}),
		"A-CRI-4 a pod without privileged container counts as one with")
}

// A-CRI-4: a limit that one container does not declare is none of the sandbox.
func TestSandboxLimits(t *testing.T) {
	pod := testPod()
	pod.Spec.Containers = []v1.Container{
		{Name: "main", Resources: v1.ResourceRequirements{Limits: resources("1", "64Mi")}},
		{Name: "other", Resources: v1.ResourceRequirements{Limits: resources("500m", "")}},
	}
	for want, own := range map[int64]v1.ResourceList{0: nil, 128 << 20: resources("", "128Mi")} {
		pod.Spec.Resources = &v1.ResourceRequirements{Limits: own}
		if r := Sandbox(SandboxInput{Pod: pod}).Linux.Resources; r.CpuQuota != 150_000 || r.MemoryLimitInBytes != want {
			t.Errorf("A-CRI-4: limits of the pod %v: quota %d, memory %d, want 150000 and %d", own, r.CpuQuota, r.MemoryLimitInBytes, want)
		}
	}
}

// A-NUMA-18: the sandbox of a pod has no quota if one of its containers has CPUs for itself.
func TestSandboxWithCPUs(t *testing.T) {
	pod := testPod()
	pod.Spec.Containers = []v1.Container{
		{Name: "other", Resources: v1.ResourceRequirements{Limits: resources("1", "64Mi")}},
		{Name: "main", Resources: v1.ResourceRequirements{Limits: resources("1", "64Mi")}},
	}
	got := Sandbox(SandboxInput{Node: Node{CPULimits: podcgroup.CPULimits{OwnCPUs: ownsMain}}, Pod: pod})
	r := got.Linux.Resources
	assert.True(t, r.CpuQuota == podcgroup.NoQuota && r.CpuPeriod == 100_000, "A-NUMA-18: resources %v, want no quota", r)
}

// Sandboxes have no quota either if CPU limits are not enforced (A-CRI-7).
func TestSandboxWithoutQuota(t *testing.T) {
	pod := testPod()
	pod.Spec.Containers = []v1.Container{{Name: "main", Resources: v1.ResourceRequirements{Limits: resources("1", "64Mi")}}}
	pod.Spec.Overhead = resources("250m", "32Mi")
	got := Sandbox(SandboxInput{Node: Node{CPULimits: podcgroup.CPULimits{Off: true}}, Pod: pod})
	for _, r := range []*runtimeapi.LinuxContainerResources{got.Linux.Resources, got.Linux.Overhead} {
		assert.True(t, r.CpuQuota == 0 && r.CpuPeriod == 0 && r.CpuShares != 0 && r.MemoryLimitInBytes != 0, "resources %v, want no quota and no period", r)
	}
}
