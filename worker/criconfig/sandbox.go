package criconfig

import (
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/node/util/sysctl"
	resourcehelper "k8s.io/component-helpers/resource"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/utils/ptr"

	"github.com/lifepod/lifepod/lifecycle"
)

// SandboxInput is everything a sandbox config depends on.
type SandboxInput struct {
	Node Node
	Pod  *v1.Pod
	// Attempt counts the pod's sandboxes, from 0.
	Attempt uint32
	// CgroupParent is podcgroup's Path.
	CgroupParent string
	// Hostname is HostnameOf's Kernel, empty with hostNetwork.
	Hostname     string
	DNS          *runtimeapi.DNSConfig
	PortMappings []*runtimeapi.PortMapping
	// UserNamespace is set for a pod with hostUsers=false (A-SEC-6).
	UserNamespace *runtimeapi.UserNamespace
	// VolumeGroups are volumes' Mounted.Groups.
	VolumeGroups []int64
}

// Sandbox builds a sandbox config (A-CRI-1 to A-CRI-5).
func Sandbox(in SandboxInput) *runtimeapi.PodSandboxConfig {
	pod := in.Pod
	return &runtimeapi.PodSandboxConfig{
		Metadata: &runtimeapi.PodSandboxMetadata{
			Name: pod.Name, Namespace: pod.Namespace, Uid: string(pod.UID), Attempt: in.Attempt,
		},
		Hostname:     in.Hostname,
		LogDirectory: in.Node.PodLogDirectory(pod),
		DnsConfig:    in.DNS,
		PortMappings: in.PortMappings,
		Labels:       sandboxLabels(pod),
		Annotations:  sandboxAnnotations(pod),
		Linux: &runtimeapi.LinuxPodSandboxConfig{
			CgroupParent:    in.CgroupParent,
			Sysctls:         sysctls(pod),
			SecurityContext: sandboxSecurity(in),
			Resources:       sandboxResources(in.Node, pod),
			Overhead:        overhead(in.Node, pod),
		},
	}
}

// NodeAnnotation is on every sandbox that lifepod makes: the name of the node, which tells it from one of another program
// that uses the same runtime (B-WRK-21).
const NodeAnnotation = "lifepod.dev/node"

// sandboxAnnotations are the pod's, and whose sandbox it is.
func sandboxAnnotations(pod *v1.Pod) map[string]string {
	annotations := map[string]string{}
	maps.Copy(annotations, pod.Annotations)
	annotations[NodeAnnotation] = pod.Spec.NodeName
	return annotations
}

// sandboxSecurity is the security context of the sandbox. Its seccomp profile
// is always the runtime's default (#84623), whatever the containers have.
func sandboxSecurity(in SandboxInput) *runtimeapi.LinuxSandboxSecurityContext {
	pod := in.Pod
	out := &runtimeapi.LinuxSandboxSecurityContext{
		Privileged:       hasPrivileged(pod),
		Seccomp:          &runtimeapi.SecurityProfile{ProfileType: runtimeapi.SecurityProfile_RuntimeDefault},
		NamespaceOptions: namespaces(pod, in.UserNamespace),
	}
	sc := pod.Spec.SecurityContext
	if sc == nil {
		return out
	}
	out.RunAsUser = int64Value(sc.RunAsUser)
	out.RunAsGroup = int64Value(sc.RunAsGroup)
	out.SelinuxOptions = selinuxOptions(sc.SELinuxOptions)
	out.SupplementalGroups = supplementalGroups(sc, in.VolumeGroups)
	out.SupplementalGroupsPolicy = supplementalGroupsPolicy(sc)
	return out
}

func hasPrivileged(pod *v1.Pod) bool {
	privileged := func(sc *v1.SecurityContext) bool { return sc != nil && ptr.Deref(sc.Privileged, false) }
	container := func(c v1.Container) bool { return privileged(c.SecurityContext) }
	ephemeral := func(c v1.EphemeralContainer) bool { return privileged(c.SecurityContext) }
	return slices.ContainsFunc(pod.Spec.InitContainers, container) ||
		slices.ContainsFunc(pod.Spec.Containers, container) ||
		slices.ContainsFunc(pod.Spec.EphemeralContainers, ephemeral)
}

// sysctls have their names in the form with dots, which every runtime takes.
func sysctls(pod *v1.Pod) map[string]string {
	out := map[string]string{}
	if pod.Spec.SecurityContext == nil {
		return out
	}
	for _, s := range pod.Spec.SecurityContext.Sysctls {
		out[sysctl.NormalizeName(s.Name)] = s.Value
	}
	return out
}

// namespaces are the modes of A-CRI-5. CONTAINER is the mode for PIDs, although
// it is not the zero value.
func namespaces(pod *v1.Pod, userNamespace *runtimeapi.UserNamespace) *runtimeapi.NamespaceOption {
	out := &runtimeapi.NamespaceOption{Pid: runtimeapi.NamespaceMode_CONTAINER, UsernsOptions: userNamespace}
	if userNamespace == nil {
		out.UsernsOptions = &runtimeapi.UserNamespace{Mode: runtimeapi.NamespaceMode_NODE}
	}
	if pod.Spec.HostNetwork {
		out.Network = runtimeapi.NamespaceMode_NODE
	}
	if pod.Spec.HostIPC {
		out.Ipc = runtimeapi.NamespaceMode_NODE
	}
	if pod.Spec.HostPID {
		out.Pid = runtimeapi.NamespaceMode_NODE
	} else if ptr.Deref(pod.Spec.ShareProcessNamespace, false) {
		out.Pid = runtimeapi.NamespaceMode_POD
	}
	return out
}

// sandboxResources are the pod's sums without overhead, a hint for runtimes
// that make a virtual machine.
func sandboxResources(node Node, pod *v1.Pod) *runtimeapi.LinuxContainerResources {
	options := resourcehelper.PodResourcesOptions{ExcludeOverhead: true}
	return linuxResources(node, node.CPULimits.AnyOwn(pod), resourcehelper.PodRequests(pod, options), lifecycle.PodLimits(pod, options))
}

func overhead(node Node, pod *v1.Pod) *runtimeapi.LinuxContainerResources {
	if pod.Spec.Overhead == nil {
		return &runtimeapi.LinuxContainerResources{}
	}
	return linuxResources(node, false, pod.Spec.Overhead, pod.Spec.Overhead)
}
