package netidentity

import (
	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/utils/ptr"
)

// PortMappings lists the ports of the pod's containers for the sandbox
// (A-CRI-3). Sidecars are included, which Kubernetes 1.37 leaves out although
// the scheduler reserves their host ports. A port declared twice is sent once.
func PortMappings(pod *v1.Pod) []*runtimeapi.PortMapping {
	var out []*runtimeapi.PortMapping
	seen := map[mapping]bool{}
	add := func(ports []v1.ContainerPort) {
		for _, port := range ports {
			key := mapping{port.HostIP, port.HostPort, port.ContainerPort, protocol(port.Protocol)}
			if seen[key] {
				continue
			}
			seen[key] = true
			out = append(out, &runtimeapi.PortMapping{HostIp: key.hostIP, HostPort: key.hostPort, ContainerPort: key.containerPort, Protocol: key.protocol})
		}
	}
	for _, c := range pod.Spec.InitContainers {
		if ptr.Deref(c.RestartPolicy, "") == v1.ContainerRestartPolicyAlways {
			add(c.Ports)
		}
	}
	for _, c := range pod.Spec.Containers {
		add(c.Ports)
	}
	return out
}

type mapping struct {
	hostIP                  string
	hostPort, containerPort int32
	protocol                runtimeapi.Protocol
}

func protocol(p v1.Protocol) runtimeapi.Protocol {
	switch p {
	case v1.ProtocolUDP:
		return runtimeapi.Protocol_UDP
	case v1.ProtocolSCTP:
		return runtimeapi.Protocol_SCTP
	}
	return runtimeapi.Protocol_TCP
}
