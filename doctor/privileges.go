package doctor

import (
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// capability is one that lifepod or its runtime makes use of.
type capability struct {
	bit     int
	name    string
	without string
	// needed means that nothing works without it.
	needed bool
}

var capabilities = []capability{
	{unix.CAP_SYS_ADMIN, "CAP_SYS_ADMIN", "nothing can be mounted and no namespace made", true},
	{unix.CAP_NET_ADMIN, "CAP_NET_ADMIN", "pods can't be connected to a network", true},
	{unix.CAP_SYS_CHROOT, "CAP_SYS_CHROOT", "no container can be given its file system", true},
	{unix.CAP_DAC_OVERRIDE, "CAP_DAC_OVERRIDE", "files of other users can't be written", true},
	{unix.CAP_CHOWN, "CAP_CHOWN", "images can't be unpacked", true},
	{unix.CAP_SETUID, "CAP_SETUID", "containers can't run as another user", true},
	{unix.CAP_SETGID, "CAP_SETGID", "containers can't run as another group", true},
	{unix.CAP_KILL, "CAP_KILL", "containers of other users can't be stopped", true},
	{unix.CAP_MKNOD, "CAP_MKNOD", "images with device files can't be unpacked", false},
	{unix.CAP_SYS_RESOURCE, "CAP_SYS_RESOURCE", "oom_score_adj can't be lowered: when memory runs out, the kernel doesn't spare Guaranteed pods and the runtime as Kubernetes would; rlimits can't be raised; volumes of local.csi.lifepod.dev don't grow while pods use them", false},
}

func checkPrivileges(h Host) Result {
	const name = "privileges"
	if !h.IsRoot() {
		return warn(name, "not root", "only root can run containers; run doctor with sudo as well, for the checks that need it")
	}
	effective, err := strconv.ParseUint(h.field("/proc/self/status", "CapEff:"), 16, 64)
	if err != nil {
		return notChecked(name, "root; its capabilities can't be read from /proc/self/status")
	}
	var missing, advice []string
	status := OK
	for _, c := range capabilities {
		if effective&(1<<c.bit) != 0 {
			continue
		}
		missing = append(missing, c.name)
		advice = append(advice, fmt.Sprintf("without %s %s", c.name, c.without))
		if c.needed {
			status = Error
		} else if status == OK {
			status = Warning
		}
	}
	if status == OK {
		return ok(name, "root with every capability that matters")
	}
	advice = append(advice, "give the machine, or the container that lifepod runs in, what is missing")
	return Result{Name: name, Status: status, Found: "root without " + strings.Join(missing, ", "), Advice: advice}
}

// field is what follows the given first word in a file of "Word: value" lines.
func (h Host) field(path, word string) string {
	for line := range strings.Lines(h.read(path)) {
		if value, found := strings.CutPrefix(line, word); found {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
