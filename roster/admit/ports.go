package admit

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"

	"github.com/lifepod/lifepod/lifecycle"
)

const anyHostIP = "0.0.0.0"

// hostPort is a port of the machine.
type hostPort struct {
	ip       string
	protocol v1.Protocol
	port     int32
}

// conflicts says whether two containers cannot have their ports at the same time.
func (p hostPort) conflicts(other hostPort) bool {
	sameIP := p.ip == other.ip || p.ip == anyHostIP || other.ip == anyHostIP
	return sameIP && p.protocol == other.protocol && p.port == other.port
}

func portsConflict(candidate *v1.Pod, others Others) bool {
	wanted := hostPorts(candidate)
	if len(wanted) == 0 {
		return false
	}
	return slices.ContainsFunc(others.Pods(), func(other *v1.Pod) bool {
		return slices.ContainsFunc(hostPorts(other), func(used hostPort) bool {
			return slices.ContainsFunc(wanted, used.conflicts)
		})
	})
}

// hostPorts are those of the containers that run as long as the pod does.
func hostPorts(pod *v1.Pod) []hostPort {
	var ports []hostPort
	for _, c := range pod.Spec.InitContainers {
		if ptr.Deref(c.RestartPolicy, "") == v1.ContainerRestartPolicyAlways {
			ports = appendHostPorts(ports, c.Ports)
		}
	}
	for _, c := range pod.Spec.Containers {
		ports = appendHostPorts(ports, c.Ports)
	}
	return ports
}

func appendHostPorts(ports []hostPort, list []v1.ContainerPort) []hostPort {
	for _, p := range list {
		if p.HostPort <= 0 {
			continue
		}
		port := hostPort{ip: p.HostIP, protocol: p.Protocol, port: p.HostPort}
		if port.ip == "" {
			port.ip = anyHostIP
		}
		if port.protocol == "" {
			port.protocol = v1.ProtocolTCP
		}
		ports = append(ports, port)
	}
	return ports
}

// UnderPressure refuses a pod that would only be evicted (B-EVI-13). conditions are those
// of pressure that the Node has. Critical pods are admitted always; if memory is all that
// is short, so are pods with requests, and those that tolerate the condition's taint.
func UnderPressure(candidate *v1.Pod, conditions []v1.NodeConditionType) *Refusal {
	if len(conditions) == 0 || lifecycle.Critical(candidate) {
		return nil
	}
	if slices.Equal(conditions, []v1.NodeConditionType{v1.NodeMemoryPressure}) {
		taint := &v1.Taint{Key: v1.TaintNodeMemoryPressure, Effect: v1.TaintEffectNoSchedule}
		if lifecycle.QOSClass(candidate) != v1.PodQOSBestEffort || corev1.TolerationsTolerateTaint(klog.Logger{}, candidate.Spec.Tolerations, taint, false) {
			return nil
		}
	}
	return &Refusal{Reason: "Evicted", Message: fmt.Sprintf("The node had condition: %v. ", conditions)}
}
