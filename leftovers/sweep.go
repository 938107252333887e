package leftovers

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lifepod/lifepod/internal/pidfd"
)

// patience is how long a killed process may take to end.
const patience = 10 * time.Second

// Sweep removes what Find listed, in that order. It goes on after a failure, so
// that as little as possible stays; the error names everything that does. The
// caller holds the root's lock.
func Sweep(ctx context.Context, found []Leftover) error {
	var failures []error
	for _, leftover := range found {
		if ctx.Err() != nil {
			return errors.Join(append(failures, context.Cause(ctx))...)
		}
		if err := sweepOne(ctx, leftover); err != nil {
			failures = append(failures, fmt.Errorf("remove %s %s: %w", leftover.Kind, leftover.Name, err))
		}
	}
	return errors.Join(failures...)
}

func sweepOne(ctx context.Context, leftover Leftover) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	switch leftover.Kind {
	case Process:
		return sweepProcess(ctx, leftover.process)
	case Cgroup:
		return sweepCgroup(ctx, leftover.Name)
	case Mount:
		return unmount(leftover.Name)
	case LoopDevice:
		return sweepLoop(leftover.Name, leftover.Detail)
	case NetworkNamespace:
		return sweepNetwork(leftover.Name)
	case Bridge:
		return sweepBridge(leftover.Name)
	case FilterTable:
		return sweepTable(ctx, runCommand, leftover.Name)
	case FilterRule:
		return sweepRule(ctx, runCommand, leftover.Name)
	case ForeignPod:
		return fmt.Errorf("its pod is on another runtime, %s: lifepod ps names it, lifepod stop ends it", leftover.Detail)
	case HostPortRule:
		return sweepHostPortRule(ctx, runCommand, leftover.Name)
	case HostPortChain:
		return sweepHostPortChain(ctx, runCommand, leftover.Name)
	case PodFolder, LogFolder, AddressRecord, PodRecord, RunFolder:
		return sweepFolder(leftover.Name)
	default:
		return errors.New("not a kind of leftover")
	}
}

// sweepProcess kills the process and waits for its end. KILL is no harm to
// containerd, whose database survives it, and needs no waiting for its consent.
func sweepProcess(ctx context.Context, id pidfd.ID) error {
	process, err := pidfd.Open(id)
	if errors.Is(err, pidfd.ErrEnded) {
		return nil
	}
	if err != nil {
		return err
	}
	defer process.Close()
	if isShim(id.PID) {
		process.KillChildren()
	}
	if err := process.Signal(unix.SIGKILL); err != nil {
		return err
	}
	return process.Wait(ctx)
}

// isShim says that a process has containers as children, which would outlive it.
func isShim(pid int) bool {
	name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	return err == nil && strings.HasPrefix(string(name), "containerd-shim")
}

// unmount detaches, so that a reader still in there doesn't hold it up.
func unmount(path string) error {
	err := unix.Unmount(path, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOENT) {
		return nil
	}
	return err
}

// sweepNetwork takes the name away; the namespace goes with its last process.
func sweepNetwork(path string) error {
	if err := unmount(path); err != nil {
		return err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
