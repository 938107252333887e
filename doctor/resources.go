package doctor

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	units "github.com/docker/go-units"
)

// leastMemoryBytes is what containerd, a few shims and a small pod take.
const leastMemoryBytes = 256 << 20

func checkMemory(h Host) Result {
	const name = "memory"
	kilobytes, err := strconv.ParseUint(strings.TrimSuffix(h.field("/proc/meminfo", "MemAvailable:"), " kB"), 10, 64)
	if err != nil {
		return notChecked(name, "/proc/meminfo can't be read")
	}
	found := units.BytesSize(float64(kilobytes<<10)) + " available"
	if kilobytes<<10 < leastMemoryBytes {
		return warn(name, found, "pods may be killed for want of memory: end something, or add memory")
	}
	return ok(name, found)
}

// The kernel's own defaults, which carry about a hundred containers: on cgroup
// v2 each one takes an inotify instance to hear of its OOM kills.
const (
	leastInotifyInstances = 128
	leastInotifyWatches   = 8192
)

func checkInotify(h Host) Result {
	const name = "inotify"
	instances, err := strconv.Atoi(h.read("/proc/sys/fs/inotify/max_user_instances"))
	if err != nil {
		return notChecked(name, "/proc/sys/fs/inotify can't be read")
	}
	watches, err := strconv.Atoi(h.read("/proc/sys/fs/inotify/max_user_watches"))
	if err != nil {
		return notChecked(name, "/proc/sys/fs/inotify can't be read")
	}
	found := fmt.Sprintf("%d instances, %d watches per user", instances, watches)
	if instances < leastInotifyInstances || watches < leastInotifyWatches {
		return warn(name, found, "few containers can be watched at once: sysctl -w fs.inotify.max_user_instances=8192 fs.inotify.max_user_watches=524288")
	}
	return ok(name, found)
}

// earliest is before any lifepod was built.
var earliest = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

func checkClock(h Host) Result {
	const name = "clock"
	now := h.Now().UTC()
	if now.Before(earliest) {
		return warn(name, now.Format(time.DateTime)+" UTC is in the past", "registries' certificates won't be accepted: set the clock (timedatectl set-ntp true)")
	}
	return ok(name, now.Format(time.DateTime)+" UTC")
}
