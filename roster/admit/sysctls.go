package admit

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/component-helpers/node/util/sysctl"
	"k8s.io/utils/ptr"

	"github.com/lifepod/lifepod/lifecycle"
)

// safeSysctls cannot harm another pod, from the kernel on that has them by
// namespace; empty is any (A-ADM-6).
var safeSysctls = []struct{ name, kernel string }{
	{"kernel.shm_rmid_forced", ""},
	{"net.ipv4.ip_local_port_range", ""},
	{"net.ipv4.tcp_syncookies", ""},
	{"net.ipv4.ping_group_range", ""},
	{"net.ipv4.ip_unprivileged_port_start", ""},
	{"net.ipv4.ip_local_reserved_ports", "3.16"},
	{"net.ipv4.tcp_keepalive_time", "4.5"},
	{"net.ipv4.tcp_fin_timeout", "4.6"},
	{"net.ipv4.tcp_keepalive_intvl", "4.5"},
	{"net.ipv4.tcp_keepalive_probes", "4.5"},
	{"net.ipv4.tcp_rmem", "4.15"},
	{"net.ipv4.tcp_wmem", "4.15"},
	{"net.ipv4.tcp_slow_start_after_idle", "4.15"},
	{"net.ipv4.tcp_notsent_lowat", "4.6"},
}

// Sysctls are those that a pod may set. The zero value allows none.
type Sysctls struct {
	names    map[string]sysctl.Namespace
	prefixes map[string]sysctl.Namespace
}

// AllowSysctls are the safe sysctls of a kernel and the unsafe ones of the
// patterns, each a name or a prefix that ends in *. The error names a pattern
// that is none, or that no pod has for itself.
func AllowSysctls(kernel string, unsafePatterns []string) (Sysctls, error) {
	out := Sysctls{names: map[string]sysctl.Namespace{}, prefixes: map[string]sysctl.Namespace{}}
	running, unknown := version.ParseGeneric(kernel)
	for _, safe := range safeSysctls {
		if safe.kernel == "" || unknown == nil && running.AtLeast(version.MustParseGeneric(safe.kernel)) {
			out.names[safe.name], _, _ = sysctl.GetNamespace(safe.name)
		}
	}
	for _, pattern := range unsafePatterns {
		if err := out.allow(pattern); err != nil {
			return Sysctls{}, err
		}
	}
	return out, nil
}

// sysctlPattern is the form that the kubelet takes, with dots or slashes.
var sysctlPattern = regexp.MustCompile(`^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[./])*([a-z0-9][-_a-z0-9]*)?[a-z0-9*]$`)

const sysctlMaxLength = 253

func (s Sysctls) allow(pattern string) error {
	if len(pattern) > sysctlMaxLength || !sysctlPattern.MatchString(pattern) {
		return fmt.Errorf("sysctl %q: want a name such as net.core.somaxconn, or a prefix such as net.core.*", pattern)
	}
	namespace, name, isPrefix := sysctl.GetNamespace(pattern)
	if namespace == sysctl.UnknownNamespace {
		return fmt.Errorf("sysctl %q is the whole machine's: a pod has only kernel.shm*, kernel.msg*, kernel.sem, kernel.domainname, fs.mqueue.*, net.* and user.* for itself", pattern)
	}
	if isPrefix {
		s.prefixes[name] = namespace
	} else {
		s.names[name] = namespace
	}
	return nil
}

// check is nil for a sysctl that a pod with its namespaces may set.
func (s Sysctls) check(name string, pod *v1.PodSpec) error {
	name = sysctl.NormalizeName(name)
	namespace, found := s.names[name]
	for prefix, of := range s.prefixes {
		if !found && strings.HasPrefix(name, prefix) {
			namespace, found = of, true
		}
	}
	switch {
	case !found:
		return fmt.Errorf("%q not allowlisted", name)
	case namespace == sysctl.IPCNamespace && pod.HostIPC, namespace == sysctl.NetNamespace && pod.HostNetwork,
		namespace == sysctl.UserNamespace && ptr.Deref(pod.HostUsers, true):
		return fmt.Errorf("%q not allowed with host %s enabled", name, namespace)
	}
	return nil
}

// checkValue is nil for a value as it stands in a file of the kernel: with tabs between figures, and with a newline at
// its end (A-ADM-6).
func checkValue(value string) error {
	for _, r := range strings.TrimSuffix(value, "\n") {
		if r != '\t' && unicode.IsControl(r) {
			return fmt.Errorf("control character %U, want a value as in /proc/sys", r)
		}
	}
	return nil
}

// checkAppArmor refuses what the kernel would not enforce.
func checkAppArmor(pod *v1.Pod, host Host) *Refusal {
	if host.AppArmor || !asksForAppArmor(pod) {
		return nil
	}
	return &Refusal{Reason: "AppArmor", Message: "Cannot enforce AppArmor: AppArmor is not enabled on the host"}
}

// asksForAppArmor also holds for a pod's profile that each of its containers
// overrides, as in Kubernetes.
func asksForAppArmor(pod *v1.Pod) bool {
	confines := func(p *v1.AppArmorProfile) bool { return p != nil && p.Type != v1.AppArmorProfileTypeUnconfined }
	if sc := pod.Spec.SecurityContext; sc != nil && confines(sc.AppArmorProfile) {
		return true
	}
	return slices.ContainsFunc(lifecycle.AllContainers(pod), func(c v1.Container) bool { return confines(lifecycle.AppArmorProfile(pod, &c)) })
}

// LacksSELinux says that a pod asks for SELinux on a node without it, where Kubernetes runs it all the same.
func LacksSELinux(pod *v1.Pod, host Host) bool { return !host.SELinux && asksForSELinux(pod) }

func asksForSELinux(pod *v1.Pod) bool {
	if sc := pod.Spec.SecurityContext; sc != nil && sc.SELinuxOptions != nil {
		return true
	}
	return slices.ContainsFunc(lifecycle.AllContainers(pod), func(c v1.Container) bool {
		return c.SecurityContext != nil && c.SecurityContext.SELinuxOptions != nil
	})
}
