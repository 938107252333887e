package doctor

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/version"
)

// checkKernel: pidfd_open, which lifepod can't do without, came with 5.3;
// Kubernetes advises 5.8 or newer for cgroup v2.
func checkKernel(h Host) Result {
	const name = "kernel"
	release := h.KernelRelease()
	is, err := version.ParseGeneric(release)
	switch {
	case err != nil:
		return warn(name, fmt.Sprintf("unreadable version %q", release), "lifepod needs Linux 5.3 or newer")
	case is.LessThan(version.MajorMinor(5, 3)):
		return fail(name, release, "lifepod needs Linux 5.3 or newer: upgrade the kernel")
	case is.LessThan(version.MajorMinor(5, 8)):
		return warn(name, release, "Kubernetes advises Linux 5.8 or newer for cgroup v2: upgrade the kernel")
	default:
		return ok(name, release)
	}
}

func checkNamespaces(h Host) Result {
	const name = "namespaces"
	var missing []string
	for _, kind := range []string{"mnt", "pid", "net", "ipc", "uts", "cgroup"} {
		if !h.exists("/proc/self/ns/" + kind) {
			missing = append(missing, kind)
		}
	}
	if len(missing) > 0 {
		return fail(name, "the kernel has no "+strings.Join(missing, ", ")+" namespaces",
			"pods need them: use a kernel with CONFIG_NAMESPACES and its options")
	}
	const limit = "/proc/sys/user/max_user_namespaces"
	if !h.exists("/proc/self/ns/user") {
		return warn(name, "all but user namespaces", "pods with hostUsers: false can't run: they need a kernel with CONFIG_USER_NS")
	}
	if h.read(limit) == "0" {
		return warn(name, "user namespaces are switched off",
			"pods with hostUsers: false can't run: sysctl -w user.max_user_namespaces=15000")
	}
	return ok(name, "mnt, pid, net, ipc, uts, cgroup, user")
}

// checkSeccomp: containerd's default profile needs filters that give errors.
func checkSeccomp(h Host) Result {
	const name = "seccomp"
	actions := h.read("/proc/sys/kernel/seccomp/actions_avail")
	if !strings.Contains(" "+actions+" ", " errno ") {
		return fail(name, "the kernel has no seccomp filters",
			"containers with the RuntimeDefault profile can't start: use a kernel with CONFIG_SECCOMP_FILTER")
	}
	return ok(name, "filters: "+actions)
}
