package leftovers

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
)

// system is where the kernel shows its things; tests put folders in its place.
type system struct {
	proc   string
	cgroup string
	// namedNetworks are the folders in which network namespaces get a name.
	namedNetworks []string
	run           command
}

func host() system {
	return system{
		proc:          "/proc",
		cgroup:        "/sys/fs/cgroup",
		namedNetworks: []string{"/run/netns"},
		run:           runCommand,
	}
}

// Find lists what was left behind, in the order in which it is to be swept.
// Without root it sees less: other users' processes keep their programs to
// themselves. The list is valid even if there is an error.
func Find(ctx context.Context, place Place) ([]Leftover, error) {
	return host().find(ctx, place.resolved())
}

func (s system) find(ctx context.Context, place Place) ([]Leftover, error) {
	var all []Leftover
	var failures []error
	collect := func(found []Leftover, err error) {
		all = append(all, found...)
		failures = append(failures, err)
	}
	processes, err := s.findProcesses(place)
	collect(processes, err)
	collect(s.findCgroups(place))
	loops, err := findLoops(place)
	collect(loops, err) // before the mounts: those of a mount that has gone have other names
	collect(findMounts(place, loops))
	collect(s.findNetworks(place, processes))
	collect(findBridge(place))
	collect(s.findFilter(ctx, place), nil)
	collect(s.findHostPorts(ctx, place), nil)
	collect(findInFolders(place))
	collect(findRunFolder(place))
	return keepForeign(place, all), errors.Join(failures...)
}

// resolved is the place with symbolic links resolved, as the kernel shows paths.
func (p Place) resolved() Place {
	p.Root, p.RunDir = resolve(p.Root), resolve(p.RunDir)
	return p
}

func resolve(path string) string {
	if path == "" {
		return ""
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return filepath.Clean(path)
}

// holds tells whether a path lies in one of the place's folders.
func (p Place) holds(path string) bool {
	return below(path, p.Root) || below(path, p.RunDir)
}

// below tells whether path lies within folder; the folder itself doesn't.
func below(path, folder string) bool {
	return folder != "" && folder != "/" && strings.HasPrefix(path, folder+"/")
}

// ofPods are the kinds whose names say which pod they are of.
var ofPods = []Kind{PodFolder, LogFolder, AddressRecord, PodRecord, ForeignPod}

// Without takes from a list what belongs to pods that no lifepod attends to, known by
// their UIDs: what is theirs by name, and, if some of them run, what all pods of a root
// share.
func Without(found []Leftover, uids []string, running bool) []Leftover {
	return slices.DeleteFunc(slices.Clone(found), func(leftover Leftover) bool {
		theirs := slices.ContainsFunc(uids, func(uid string) bool { return strings.Contains(leftover.Name, uid) })
		return theirs || running && !slices.Contains(ofPods, leftover.Kind)
	})
}
