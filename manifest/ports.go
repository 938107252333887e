package manifest

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kubernetes/pkg/apis/core"
)

// portWarnings name the probes and hooks that ask for a port by a name which their container gives to
// none. An API server accepts that; no attempt can ever be made (A-PROBE-8).
func portWarnings(spec *core.PodSpec) (warnings []string) {
	for list, containers := range map[string][]core.Container{"initContainers": spec.InitContainers, "containers": spec.Containers} {
		for i := range containers {
			path := field.NewPath("spec", list).Index(i)
			for below, port := range namedPorts(&containers[i]) {
				warnings = append(warnings, fmt.Sprintf("%s.%s: the container has no port with the name %q", path, below, port))
			}
		}
	}
	slices.Sort(warnings)
	return warnings
}

// namedPorts are the names by field that none of the container's ports has.
func namedPorts(c *core.Container) map[string]string {
	unknown := map[string]string{}
	visit := func(path string, port intstr.IntOrString) {
		named := func(p core.ContainerPort) bool { return p.Name == port.StrVal }
		if port.Type == intstr.String && !slices.ContainsFunc(c.Ports, named) {
			unknown[path+".port"] = port.StrVal
		}
	}
	probes := map[string]*core.Probe{"startupProbe": c.StartupProbe, "livenessProbe": c.LivenessProbe, "readinessProbe": c.ReadinessProbe}
	for name, p := range probes {
		if p != nil && p.HTTPGet != nil {
			visit(name+".httpGet", p.HTTPGet.Port)
		}
		if p != nil && p.TCPSocket != nil {
			visit(name+".tcpSocket", p.TCPSocket.Port)
		}
	}
	if c.Lifecycle == nil {
		return unknown
	}
	for name, h := range map[string]*core.LifecycleHandler{"postStart": c.Lifecycle.PostStart, "preStop": c.Lifecycle.PreStop} {
		if h != nil && h.HTTPGet != nil {
			visit("lifecycle."+name+".httpGet", h.HTTPGet.Port)
		}
	}
	return unknown
}
