package bundle

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/coreos/go-systemd/v22/dbus"
	"golang.org/x/sys/unix"
)

// CgroupDriver says who makes the cgroups of pods and containers. Empty is the one that
// the root's pods have, else Cgroupfs.
type CgroupDriver string

// As KubeletConfiguration names them.
const (
	Cgroupfs CgroupDriver = "cgroupfs" // lifepod and runc, as folders
	Systemd  CgroupDriver = "systemd"  // systemd makes slices for pods and scopes for containers
)

// cgroupDriver is a symbolic link whose target is the driver: it is made in one step. It
// goes with the run folder, when the last pod has gone, and at a reboot.
func (p Paths) cgroupDriver() string { return filepath.Join(p.RunDir, "cgroup-driver") }

// settleDriver decides on the driver of a root that this process has opened. Pods keep
// the one that they began with: another would not find their cgroups.
func (r *Runtime) settleDriver(wanted CgroupDriver) error {
	if wanted == Systemd {
		if _, err := os.Stat("/run/systemd/system"); err != nil {
			return errors.New("cgroupDriver systemd: systemd does not run here; want cgroupfs")
		}
	}
	var err error
	if r.driver, err = r.driverOf(wanted); err != nil {
		return fmt.Errorf("settle the cgroup driver: %w", err)
	}
	return nil
}

// driverOf is the driver that the root has from now on.
func (r *Runtime) driverOf(wanted CgroupDriver) (CgroupDriver, error) {
	has, err := r.paths.makeDriver(wanted)
	if err == nil && wanted != "" && has != wanted {
		return r.changeDriver(has, wanted)
	}
	return has, err
}

// makeDriver returns the driver that the root has then. One whose containerd was started by a
// lifepod that knew no other has cgroupfs.
func (p Paths) makeDriver(wanted CgroupDriver) (CgroupDriver, error) {
	first := wanted
	if _, err := os.Stat(p.record()); err == nil || wanted == "" {
		first = Cgroupfs
	}
	if err := os.Symlink(string(first), p.cgroupDriver()); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	has, err := os.Readlink(p.cgroupDriver())
	return CgroupDriver(has), err
}

// changeDriver is only possible without pods, and without another lifepod that might be
// about to start one.
func (r *Runtime) changeDriver(has, wanted CgroupDriver) (CgroupDriver, error) {
	inUse := fmt.Errorf("the pods of %s have %s: `%s` ends them, then it can be %s", r.paths.Root, has, Command(r.paths.Root, "down"), wanted)
	err := relock(r.users, unix.LOCK_EX)
	if errors.Is(err, errLocked) {
		return "", inUse
	}
	if err != nil {
		return "", err
	}
	left, err := r.paths.podsLeft()
	switch {
	case err != nil:
		return "", err
	case left:
		return "", inUse
	}
	if err := os.Remove(r.paths.cgroupDriver()); err != nil {
		return "", err
	}
	if err := os.Symlink(string(wanted), r.paths.cgroupDriver()); err != nil {
		return "", err
	}
	return wanted, relock(r.users, unix.LOCK_SH)
}

// usesSystemd says whether systemd makes the cgroups of the root's pods.
func (p Paths) usesSystemd() bool {
	has, err := os.Readlink(p.cgroupDriver())
	return err == nil && CgroupDriver(has) == Systemd
}

// removeSlice has systemd remove the slice of the pods, with the empty ones below it.
func (p Paths) removeSlice(ctx context.Context) error {
	// As podcgroup names it: in a slice's name - stands for another slice.
	name := strings.ReplaceAll(strings.TrimPrefix(p.CgroupParent(), "/"), "-", "_") + ".slice"
	if there, err := cgroupFolders(name); err != nil || len(there) == 0 {
		return err // no pod has been here
	}
	manager, err := dbus.NewWithContext(ctx)
	if err != nil {
		return fmt.Errorf("stop %s: %w", name, err)
	}
	defer manager.Close()
	done := make(chan string, 1)
	_, err = manager.StopUnitContext(ctx, name, "replace", done)
	if err != nil {
		return fmt.Errorf("stop %s: %w", name, err)
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("stop %s: %w", name, context.Cause(ctx))
	}
}
