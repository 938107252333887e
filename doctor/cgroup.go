package doctor

import (
	"bytes"
	"io/fs"
	"slices"
	"strings"

	"github.com/moby/sys/mountinfo"
)

const cgroupFolder = "/sys/fs/cgroup"

// neededControllers are what pod resources and limits are made of.
var neededControllers = []string{"cpu", "memory", "pids"}

func checkCgroups(h Host) Result {
	const name = "cgroups"
	mounts, err := h.cgroupMounts()
	if err != nil {
		return notChecked(name, "the mounts can't be read: "+err.Error())
	}
	if len(mounts) == 0 {
		return fail(name, "none mounted", "mount cgroup v2: mount -t cgroup2 none "+cgroupFolder)
	}
	version, controllers := h.controllers(mounts)
	var missing []string
	for _, controller := range neededControllers {
		if !slices.Contains(controllers, controller) {
			missing = append(missing, controller)
		}
	}
	if len(missing) > 0 {
		return fail(name, version+" without the controllers "+strings.Join(missing, ", "), controllerAdvice(version, missing)...)
	}
	if h.IsRoot() && slices.ContainsFunc(mounts, func(m *mountinfo.Info) bool { return slices.Contains(strings.Split(m.Options, ","), "ro") }) {
		return fail(name, version+", but mounted read-only", "mount it writable; in a container: run that with its own writable cgroup namespace, or privileged")
	}
	found := version + " with " + strings.Join(neededControllers, ", ")
	if version == "v1" {
		return warn(name, found, "works, but Kubernetes is dropping cgroup v1, and with v1 running out of memory kills one process instead of the whole container: boot with systemd.unified_cgroup_hierarchy=1")
	}
	return ok(name, found)
}

func controllerAdvice(version string, missing []string) []string {
	var advice []string
	if slices.Contains(missing, "memory") {
		advice = append(advice, "boot with cgroup_enable=memory on the kernel command line")
	}
	if version == "v2" {
		return append(advice, "if lifepod runs in a container or below a systemd unit, delegate the controllers to it (Delegate=yes)")
	}
	return append(advice, "mount each missing controller below "+cgroupFolder)
}

// cgroupMounts are the mounts of both versions.
func (h Host) cgroupMounts() ([]*mountinfo.Info, error) {
	raw, err := fs.ReadFile(h.Files, "proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	return mountinfo.GetMountsFromReader(bytes.NewReader(raw), mountinfo.FSTypeFilter("cgroup", "cgroup2"))
}

// controllers reads those of v2 from its root, those of v1 from the mounts. A
// v2 mounted elsewhere than at the usual place is only there for systemd.
func (h Host) controllers(mounts []*mountinfo.Info) (version string, controllers []string) {
	for _, mount := range mounts {
		if mount.FSType == "cgroup2" && mount.Mountpoint == cgroupFolder {
			return "v2", strings.Fields(h.read(cgroupFolder + "/cgroup.controllers"))
		}
	}
	for _, mount := range mounts {
		if mount.FSType == "cgroup" {
			controllers = append(controllers, strings.Split(mount.VFSOptions, ",")...)
		}
	}
	return "v1", controllers
}
