package stats

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path"

	"golang.org/x/sys/unix"

	"github.com/lifepod/lifepod/cri"
)

// deviceName is a block device's path, or its numbers if it has none.
func deviceName(major, minor uint64) string {
	numbers := fmt.Sprintf("%d:%d", major, minor)
	target, err := os.Readlink("/sys/dev/block/" + numbers)
	if err != nil {
		return numbers
	}
	return "/dev/" + path.Base(target)
}

// deviceOf is the device of the file system that a path is on.
func deviceOf(name string) string {
	var stat unix.Stat_t
	if err := unix.Stat(name, &stat); err != nil {
		return ""
	}
	return deviceName(uint64(unix.Major(stat.Dev)), uint64(unix.Minor(stat.Dev)))
}

// sandboxImage is the image that all sandboxes are of, as far as the runtime tells:
// dashboards know sandboxes by that they have one.
func (s *Stats) sandboxImage(ctx context.Context, sandboxes []sandbox) string {
	const unknown = "pause"
	if len(sandboxes) == 0 {
		return unknown
	}
	return cmp.Or(cri.SandboxImage(ctx, s.Runtime, sandboxes[0].Id), unknown)
}
