package netidentity

import (
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

const (
	hostnameMaxLength = 63
	// fqdnMaxLength is the size of the kernel's nodename field.
	fqdnMaxLength = 64
)

// Hostname is the name of a pod on the network (A-NET-2).
type Hostname struct {
	// Name is the short name, as in /etc/hosts.
	Name string
	// Domain is empty unless the pod has a subdomain.
	Domain string
	// Kernel is what gethostname returns: Name, or Name.Domain with
	// setHostnameAsFQDN. It goes into the sandbox config and is empty for a
	// host-network pod, which keeps the host's name.
	Kernel string
}

// HostnameOf derives a validated pod's hostname. The error is that of
// setHostnameAsFQDN with a name too long for the kernel.
func HostnameOf(pod *v1.Pod, clusterDomain string) (Hostname, error) {
	h := shortHostname(pod, clusterDomain)
	h.Kernel = h.Name
	if pod.Spec.HostNetwork {
		h.Kernel = ""
		return h, nil
	}
	if h.Domain != "" && ptr.Deref(pod.Spec.SetHostnameAsFQDN, false) {
		h.Kernel = h.Name + "." + h.Domain
		if len(h.Kernel) > fqdnMaxLength {
			return Hostname{}, fmt.Errorf("failed to construct FQDN from pod hostname and cluster domain, FQDN %s is too long (%d characters is the max, %d characters requested)",
				h.Kernel, fqdnMaxLength, len(h.Kernel))
		}
	}
	return h, nil
}

func shortHostname(pod *v1.Pod, clusterDomain string) Hostname {
	if pod.Spec.HostnameOverride != nil {
		return Hostname{Name: truncate(*pod.Spec.HostnameOverride)}
	}
	h := Hostname{Name: truncate(pod.Name)}
	if pod.Spec.Hostname != "" {
		h.Name = truncate(pod.Spec.Hostname)
	}
	if pod.Spec.Subdomain != "" {
		h.Domain = fmt.Sprintf("%s.%s.svc.%s", pod.Spec.Subdomain, pod.Namespace, clusterDomain)
	}
	return h
}

// truncate cuts a name to what fits a DNS label; a label may not end with - or
// a dot.
func truncate(name string) string {
	if len(name) <= hostnameMaxLength {
		return name
	}
	return strings.TrimRight(name[:hostnameMaxLength], "-.")
}
