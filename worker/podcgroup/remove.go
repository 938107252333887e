package podcgroup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/opencontainers/cgroups"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/internal/pidfd"
)

var classes = []v1.PodQOSClass{v1.PodQOSGuaranteed, v1.PodQOSBurstable, v1.PodQOSBestEffort}

// Remove kills what is still running in the pod's cgroup and removes it, with
// the containers' cgroups below. It needs no more than the UID, so that pods of
// which nothing else is known can be swept up; with the class it looks in one
// place. One without a cgroup is no error.
func (d Driver) Remove(ctx context.Context, uid types.UID, class ...v1.PodQOSClass) error {
	if uid == "" {
		return errors.New("remove pod cgroup: no UID")
	}
	if len(class) == 0 {
		class = classes
	}
	for _, class := range class {
		names := d.names(class, uid)
		if err := d.remove(ctx, names); err != nil {
			return fmt.Errorf("remove cgroup %s: %w", d.path(names), err)
		}
	}
	return d.setLevelMemory()
}

func (d Driver) remove(ctx context.Context, names []string) error {
	m, err := d.manager(names, Resources{CPUShares: MinCPUShares})
	if err != nil {
		return err
	}
	dirs := existing(m.GetPaths())
	if len(dirs) == 0 {
		return nil
	}
	if err := pidfd.KillCgroups(ctx, dirs...); err != nil {
		return err
	}
	return m.Destroy()
}

// existing keeps the folders that are there; on cgroup v1 a pod has one in each
// hierarchy, and a kill -9 may have left some of them.
func existing(paths map[string]string) []string {
	var out []string
	for _, dir := range paths {
		if _, err := os.Lstat(dir); err == nil {
			out = append(out, dir)
		}
	}
	return out
}

// Pods lists the pods that have a cgroup, in no order.
func (d Driver) Pods() ([]types.UID, error) {
	seen := map[types.UID]bool{}
	var out []types.UID
	for _, class := range classes {
		level := d.names(class, "")
		level = level[:len(level)-1]
		m, err := d.manager(level, Resources{CPUShares: MinCPUShares})
		if err != nil {
			return nil, fmt.Errorf("list pod cgroups: %w", err)
		}
		for _, dir := range m.GetPaths() {
			entries, err := os.ReadDir(dir)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, fmt.Errorf("list pod cgroups: %w", err)
			}
			for _, entry := range entries {
				if uid, ok := podUID(entry, d.Systemd); ok && !seen[uid] {
					seen[uid] = true
					out = append(out, uid)
				}
			}
		}
	}
	return out, nil
}

func podUID(entry fs.DirEntry, slice bool) (types.UID, bool) {
	name := entry.Name()
	if slice {
		name = strings.TrimSuffix(name, ".slice")
		name = name[strings.LastIndex(name, "-")+1:]
		name = strings.ReplaceAll(name, "_", "-")
	}
	uid, found := strings.CutPrefix(name, podPrefix)
	return types.UID(uid), found && uid != "" && entry.IsDir()
}

// RemoveParents removes the class levels and the parent where they are empty;
// levels that another lifepod still uses stay.
func (d Driver) RemoveParents() error {
	for _, names := range [][]string{append(levels(d.Parent), "burstable"), append(levels(d.Parent), "besteffort"), levels(d.Parent)} {
		m, err := d.manager(names, Resources{CPUShares: MinCPUShares})
		if err != nil {
			return fmt.Errorf("remove cgroup %s: %w", d.path(names), err)
		}
		dirs := existing(m.GetPaths())
		if len(dirs) == 0 || !empty(dirs) {
			continue
		}
		if d.Systemd {
			if err := m.Destroy(); err != nil {
				return fmt.Errorf("remove cgroup %s: %w", d.path(names), err)
			}
			continue
		}
		for _, dir := range dirs {
			// One that got a child in the meantime refuses with EBUSY, as it should.
			_ = os.Remove(dir)
		}
	}
	return nil
}

// empty says whether no cgroup and no process is in any of the folders.
func empty(dirs []string) bool {
	for _, dir := range dirs {
		subfolders, err := filepath.Glob(filepath.Join(dir, "*", "cgroup.procs"))
		if err != nil || len(subfolders) > 0 {
			return false
		}
		pids, err := cgroups.GetPids(dir)
		if err != nil || len(pids) > 0 {
			return false
		}
	}
	return true
}
