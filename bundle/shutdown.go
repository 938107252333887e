package bundle

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"
)

// shutDown stops containerd and removes what is not needed without it, unless pods
// are left running: their output goes through containerd. The caller is the only
// user of the root.
func (d *daemon) shutDown(ctx context.Context) error {
	if err := d.paths.killLostShims(ctx); err != nil {
		d.log.Debug("look for shims that containerd has lost", "err", err)
	}
	left, err := d.paths.podsLeft()
	if err != nil {
		return err
	}
	if left {
		return nil // the next who opens the root finds it
	}
	// The kernel takes its time to take a bridge or a rule away, just as
	// containerd does to stop.
	var stopped, unplugged error
	var group sync.WaitGroup
	group.Go(func() { stopped = d.stop(ctx) })
	group.Go(func() { unplugged = d.paths.removeNetwork(ctx) })
	group.Wait()
	if stopped != nil {
		return errors.Join(stopped, unplugged)
	}
	remove := d.paths.removeCgroup
	if d.paths.usesSystemd() {
		remove = func() error { return d.paths.removeSlice(ctx) }
	}
	return errors.Join(unplugged, d.paths.removeRunDir(), remove())
}

// stop ends the containerd of the root, if it runs.
func (d *daemon) stop(ctx context.Context) error {
	running, _, err := d.find()
	if err != nil {
		return err
	}
	if running != nil {
		d.collect(ctx)
		err := running.Stop(ctx, stopPatience)
		running.Close()
		if err != nil {
			return err
		}
		if err := d.paths.awaitCleanups(ctx); err != nil {
			return err
		}
	}
	if err := os.Remove(d.paths.record()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// collectPatience is how long containerd may take to remove what is not used.
const collectPatience = 5 * time.Second

// collect has containerd remove the writable layers of containers that are
// gone. One that can't is stopped all the same.
func (d *daemon) collect(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, collectPatience)
	defer cancel()
	if err := CollectImages(ctx, d.paths.Socket()); err != nil {
		d.log.Debug("containerd keeps what is not used", "err", err)
	}
}

// podsLeft says whether a pod, or a task without one, is still there. Folders
// alone don't: containerd leaves some when it is killed while it makes a
// sandbox; what lives has a shim.
func (p Paths) podsLeft() (bool, error) {
	for _, dir := range []string{
		"io.containerd.runtime.v2.task/k8s.io",
		"io.containerd.grpc.v1.cri/sandboxes",
	} {
		entries, err := os.ReadDir(filepath.Join(p.state(), dir))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false, fmt.Errorf("look for pods: %w", err)
		}
		if len(entries) > 0 && p.shimLives() {
			return true, nil
		}
	}
	return false, nil
}

// removeRunDir removes the sockets, and mounts that a killed run left.
func (p Paths) removeRunDir() error {
	mounts, err := mountinfo.GetMounts(mountinfo.PrefixFilter(p.RunDir))
	if err != nil {
		return fmt.Errorf("list the mounts below %s: %w", p.RunDir, err)
	}
	// What was mounted last lies on top.
	for _, m := range slices.Backward(mounts) {
		if err := unix.Unmount(m.Mountpoint, unix.MNT_DETACH); err != nil && !errors.Is(err, unix.EINVAL) {
			return fmt.Errorf("unmount %s: %w", m.Mountpoint, err)
		}
	}
	if err := os.RemoveAll(p.RunDir); err != nil {
		return fmt.Errorf("remove the run folder: %w", err)
	}
	return nil
}

// removeCgroup removes the cgroup of the pods wherever it was made: in every
// hierarchy of cgroup v1, or in the one of v2. One that is in use stays.
func (p Paths) removeCgroup() error {
	there, err := cgroupFolders(strings.TrimPrefix(p.CgroupParent(), "/"))
	for _, dir := range there {
		removeEmptyTree(dir)
	}
	return err
}

// cgroupFolders are those of a cgroup that are there: of each hierarchy of cgroup v1, or
// of the one of v2.
func cgroupFolders(name string) ([]string, error) {
	const base = "/sys/fs/cgroup"
	found, err := filepath.Glob(filepath.Join(base, "*", name))
	if _, missing := os.Stat(filepath.Join(base, name)); missing == nil {
		found = append(found, filepath.Join(base, name))
	}
	return found, err
}

// removeEmptyTree removes dir and the folders in it from the innermost out.
// The files of a cgroup go with it.
func removeEmptyTree(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if e.IsDir() {
			removeEmptyTree(filepath.Join(dir, e.Name()))
		}
	}
	// A cgroup in use stays.
	_ = unix.Rmdir(dir)
}
