package run

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/lifepod/lifepod/bundle"
	"github.com/lifepod/lifepod/manifest"
)

// publishAll adds each -p to the pod that it is for: of several to the one that declares the port, or that is behind a Service with it.
func publishAll(pods []*v1.Pod, services []*v1.Service, flags []string) error {
	for _, flag := range flags {
		port, err := parsePort(flag)
		if err != nil {
			return fmt.Errorf("-p %s: %w; want [hostIP:]hostPort:podPort[/tcp|udp|sctp], such as 8080:80", flag, err)
		}
		wanted := port.ContainerPort
		found := slices.DeleteFunc(slices.Clone(pods), func(pod *v1.Pod) bool { return !declares(pod, port) })
		if len(found) == 0 {
			found, port.ContainerPort = behind(services, pods, port)
		}
		switch {
		case len(found) == 0 && len(pods) == 1:
			found = pods
		case len(found) != 1:
			return fmt.Errorf("-p %s: there are %d pods, and %d of them have port %d as a containerPort or behind a Service: want one that does", flag, len(pods), len(found), wanted)
		}
		if found[0].Spec.HostNetwork {
			return fmt.Errorf("-p %s: the pod uses the host's network, its ports are the host's already", flag)
		}
		if err := publish(found[0], port); err != nil {
			return fmt.Errorf("-p %s: %w", flag, err)
		}
	}
	return nil
}

// behind are the pods of a Service that has the port, and which port of theirs that is.
func behind(services []*v1.Service, pods []*v1.Pod, port v1.ContainerPort) (found []*v1.Pod, target int32) {
	target = port.ContainerPort
	for _, service := range services {
		for i := range service.Spec.Ports {
			of := &service.Spec.Ports[i]
			if of.Port != port.ContainerPort || of.Protocol != port.Protocol {
				continue
			}
			for _, pod := range pods {
				if to := manifest.TargetPort(pod, of); manifest.Selects(service, pod) && to != 0 && !slices.Contains(found, pod) {
					found, target = append(found, pod), to
				}
			}
		}
	}
	return found, target
}

func declares(pod *v1.Pod, port v1.ContainerPort) bool {
	return slices.ContainsFunc(publishing(pod), func(c *v1.Container) bool {
		return slices.ContainsFunc(c.Ports, func(p v1.ContainerPort) bool {
			return p.ContainerPort == port.ContainerPort && p.Protocol == port.Protocol
		})
	})
}

// checkReachable refuses host ports on IPv6 addresses for pods that have none: the
// bundled network gives IPv4 addresses only, and nothing would answer there.
func checkReachable(o Options, pod *v1.Pod) error {
	if o.RuntimeEndpoint != "" || pod.Spec.HostNetwork {
		return nil
	}
	paths, err := bundle.Locate(o.Root, "")
	if err != nil || paths.OtherNetwork() {
		return err
	}
	for _, port := range hostPorts(pod) {
		if ip := net.ParseIP(port.IP); ip != nil && ip.To4() == nil {
			return fmt.Errorf("host port %s: the pod network has IPv4 addresses only, nothing would answer on %s: want an IPv4 address, such as 127.0.0.1, or none for all", port, port.IP)
		}
	}
	return nil
}

// publish adds a host port of the pod: to the container that declares the port, else to the first one.
func publish(pod *v1.Pod, port v1.ContainerPort) error {
	containers := publishing(pod)
	for _, c := range containers {
		for _, p := range c.Ports {
			if p.HostPort == port.HostPort && p.Protocol == port.Protocol && (p.HostIP == port.HostIP || p.HostIP == "" || port.HostIP == "") {
				return fmt.Errorf("host port %d is used already by container %s", p.HostPort, c.Name)
			}
		}
	}
	for _, c := range containers {
		for j := range c.Ports {
			if p := &c.Ports[j]; p.ContainerPort == port.ContainerPort && p.Protocol == port.Protocol && p.HostPort == 0 {
				p.HostPort, p.HostIP = port.HostPort, port.HostIP
				return nil
			}
		}
	}
	first := &pod.Spec.Containers[0]
	first.Ports = append(first.Ports, port)
	return nil
}

// publishing are the containers whose ports the sandbox gets, regular ones
// first: sidecars' as well, those of other init containers not (A-CRI-3).
func publishing(pod *v1.Pod) []*v1.Container {
	var out []*v1.Container
	for i := range pod.Spec.Containers {
		out = append(out, &pod.Spec.Containers[i])
	}
	for i := range pod.Spec.InitContainers {
		if c := &pod.Spec.InitContainers[i]; ptr.Deref(c.RestartPolicy, "") == v1.ContainerRestartPolicyAlways {
			out = append(out, c)
		}
	}
	return out
}

func parsePort(flag string) (v1.ContainerPort, error) {
	spec, protocol, hasProtocol := strings.Cut(flag, "/")
	port := v1.ContainerPort{Protocol: v1.ProtocolTCP}
	if hasProtocol {
		port.Protocol = v1.Protocol(strings.ToUpper(protocol))
	}
	switch port.Protocol {
	case v1.ProtocolTCP, v1.ProtocolUDP, v1.ProtocolSCTP:
	default:
		return port, fmt.Errorf("protocol %q", protocol)
	}
	host, podPort, ok := cutLast(spec, ":")
	if !ok {
		return port, fmt.Errorf("no colon")
	}
	if ip, hostPort, ok := cutLast(host, ":"); ok {
		port.HostIP, host = strings.Trim(ip, "[]"), hostPort
		if net.ParseIP(port.HostIP) == nil {
			return port, fmt.Errorf("%q is not an IP address", port.HostIP)
		}
	}
	var err error
	if port.HostPort, err = portNumber(host); err != nil {
		return port, err
	}
	port.ContainerPort, err = portNumber(podPort)
	return port, err
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return "", s, false
	}
	return s[:i], s[i+len(sep):], true
}

func portNumber(s string) (int32, error) {
	n, err := strconv.ParseUint(s, 10, 16)
	if err != nil || n == 0 {
		return 0, fmt.Errorf("%q is not a port from 1 to 65535", s)
	}
	return int32(n), nil
}
