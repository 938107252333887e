package criconfig

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// HostsPath is where a container finds its hosts file, and where the host has
// its own.
const HostsPath = "/etc/hosts"

// HostsName is the hosts file's name in a pod's folder.
const HostsName = "etc-hosts"

const (
	hostsHeader            = "# Kubernetes-managed hosts file.\n"
	hostsHeaderHostNetwork = "# Kubernetes-managed hosts file (host network).\n"
	hostsLoopback          = "127.0.0.1\tlocalhost\n" +
		"::1\tlocalhost ip6-localhost ip6-loopback\n" +
		"fe00::0\tip6-localnet\n" +
		"fe00::0\tip6-mcastprefix\n" +
		"fe00::1\tip6-allnodes\n" +
		"fe00::2\tip6-allrouters\n"
)

// CheckHostsFile returns an error if the machine has no hosts file at path. containerd
// copies it for each pod sandbox and makes none without it, so that every pod of such
// a machine would wait for ever.
func CheckHostsFile(path string) error {
	_, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no %s, without which the container runtime starts no pod: echo 127.0.0.1 localhost > %s", path, path)
	}
	return err
}

// MountsHosts says whether a container gets the pod's hosts file: not if it
// mounts that path itself, and only once the pod has an address (A-NET-1).
func MountsHosts(pod *v1.Pod, container *v1.Container, podIPs []string) bool {
	for _, mount := range container.VolumeMounts {
		if mount.MountPath == HostsPath {
			return false
		}
	}
	return len(podIPs) > 0 || pod.Spec.HostNetwork
}

// HostsFile is the content of a pod's hosts file (A-NET-1). nodeHosts is the
// host's own, used for a host-network pod only. services are names of Services, where there is no DNS for them.
func HostsFile(pod *v1.Pod, hostname Hostname, podIPs []string, nodeHosts []byte, services []v1.HostAlias) []byte {
	var out strings.Builder
	if pod.Spec.HostNetwork {
		out.WriteString(hostsHeaderHostNetwork)
		out.Write(nodeHosts)
	} else {
		out.WriteString(hostsHeader + hostsLoopback)
		names := hostname.Name
		if hostname.Domain != "" {
			names = hostname.Name + "." + hostname.Domain + "\t" + hostname.Name
		}
		for _, ip := range podIPs {
			fmt.Fprintf(&out, "%s\t%s\n", ip, names)
		}
	}
	writeAliases(&out, "# Entries added by HostAliases.", pod.Spec.HostAliases)
	writeAliases(&out, "# Services of this run.", services)
	return []byte(out.String())
}

func writeAliases(out *strings.Builder, heading string, aliases []v1.HostAlias) {
	if len(aliases) > 0 {
		out.WriteString("\n" + heading + "\n")
	}
	for _, alias := range aliases {
		fmt.Fprintf(out, "%s\t%s\n", alias.IP, strings.Join(alias.Hostnames, "\t"))
	}
}

// hosts has one hosts file written at a time, so that the newest of what services is stays.
var hosts sync.Mutex

// WriteHosts writes the hosts file into the pod's folder and returns its path,
// the source of the mount at HostsPath. The file is rewritten in place at each
// container start: running containers have it mounted, so its inode must stay. services may be nil.
func WriteHosts(podDir string, pod *v1.Pod, hostname Hostname, podIPs []string, services func(*v1.Pod) []v1.HostAlias) (string, error) {
	hosts.Lock()
	defer hosts.Unlock()
	var names []v1.HostAlias
	if services != nil && !pod.Spec.HostNetwork {
		names = services(pod)
	}
	var nodeHosts []byte
	if pod.Spec.HostNetwork {
		var err error
		if nodeHosts, err = os.ReadFile(HostsPath); err != nil {
			return "", fmt.Errorf("read the host's hosts file: %w", err)
		}
	}
	path := filepath.Join(podDir, HostsName)
	content := HostsFile(pod, hostname, podIPs, nodeHosts, names)
	if current, err := os.ReadFile(path); err == nil && string(current) == string(content) {
		return path, nil
	}
	if err := overwrite(path, content); err != nil {
		return "", fmt.Errorf("write hosts file: %w", err)
	}
	return path, nil
}

// overwrite writes a file in place. Whoever reads it meanwhile never finds it empty.
func overwrite(path string, content []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	_, err = file.WriteAt(content, 0)
	return errors.Join(err, file.Truncate(int64(len(content))), file.Chmod(0o644), file.Close())
}

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
