package leftovers

import (
	"fmt"
	"slices"
	"strings"

	"github.com/moby/sys/mountinfo"
)

// findMounts lists the mounts below the two folders, the last one first, which
// is the order in which they can be taken away. loops are the loop devices of
// files below them.
func findMounts(place Place, loops []Leftover) ([]Leftover, error) {
	ours := func(mount *mountinfo.Info) bool {
		return slices.ContainsFunc(loops, func(l Leftover) bool { return l.Name == mount.Source })
	}
	mounts, err := mountinfo.GetMounts(func(mount *mountinfo.Info) (skip, stop bool) {
		return !place.holds(mount.Mountpoint) || isDisk(mount) && !ours(mount), false
	})
	if err != nil {
		return nil, fmt.Errorf("find mounts: %w", err)
	}
	var found []Leftover
	for _, mount := range slices.Backward(mounts) {
		found = append(found, Leftover{Kind: Mount, Name: mount.Mountpoint, Detail: mount.FSType})
	}
	return found, nil
}

// isDisk tells whether this is a whole file system of a device, which an
// administrator mounted there to hold the data; lifepod mounts only overlays,
// memory, namespaces and single folders, and volumes that are files of its own.
func isDisk(mount *mountinfo.Info) bool {
	return mount.Root == "/" && strings.HasPrefix(mount.Source, "/dev/")
}
