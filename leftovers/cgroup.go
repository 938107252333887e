package leftovers

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/opencontainers/cgroups"

	"github.com/lifepod/lifepod/internal/pidfd"
	"github.com/lifepod/lifepod/internal/plain"
)

// findCgroups looks for the parent cgroup in the one hierarchy of cgroup v2, or
// in each of v1 and in v2's beside them.
func (s system) findCgroups(place Place) ([]Leftover, error) {
	parent := filepath.Join("/", place.CgroupParent)
	if parent == "/" {
		return nil, nil
	}
	hierarchies, err := s.hierarchies()
	if err != nil {
		return nil, fmt.Errorf("find cgroups: %w", err)
	}
	var found []Leftover
	for _, hierarchy := range hierarchies {
		for _, path := range []string{hierarchy + parent, hierarchy + strings.ReplaceAll(parent, "-", "_") + ".slice"} { // of either driver
			if _, err := os.Stat(path); err != nil {
				continue
			}
			found = append(found, Leftover{Kind: Cgroup, Name: path, Detail: describeCgroup(path)})
		}
	}
	return found, nil
}

func (s system) hierarchies() ([]string, error) {
	if _, err := os.Stat(filepath.Join(s.cgroup, "cgroup.controllers")); err == nil {
		return []string{s.cgroup}, nil
	}
	entries, err := os.ReadDir(s.cgroup)
	if err != nil {
		return nil, err
	}
	var folders []string
	for _, entry := range entries {
		// The symbolic links are second names, like cpu for cpu,cpuacct.
		if entry.IsDir() {
			folders = append(folders, filepath.Join(s.cgroup, entry.Name()))
		}
	}
	return folders, nil
}

func describeCgroup(path string) string {
	below, processes := -1, 0
	_ = filepath.WalkDir(path, func(folder string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return nil //nolint:nilerr // it has gone meanwhile
		}
		below++
		pids, _ := cgroups.GetPids(folder)
		processes += len(pids)
		return nil
	})
	return plain.Count(below, "cgroup") + " below it, " + plain.Count(processes, "process")
}

// sweepCgroup kills what is in it until nothing is, then removes the tree.
func sweepCgroup(ctx context.Context, path string) error {
	if err := pidfd.KillCgroups(ctx, path); err != nil {
		return err
	}
	return cgroups.RemovePath(path)
}
