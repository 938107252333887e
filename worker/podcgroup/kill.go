package podcgroup

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"time"

	"github.com/opencontainers/cgroups"
	"golang.org/x/sys/unix"
)

const (
	// killRounds bounds how often a group that forks while it is killed is
	// looked through again.
	killRounds = 10
	// exitPatience is how long a killed process may take to be gone, where the
	// caller sets no earlier deadline: the kernel has to free its memory first.
	exitPatience = 10 * time.Second
)

// kill ends every process in the folders and those below, and waits until they
// are gone.
func kill(ctx context.Context, dirs []string) error {
	ctx, cancel := context.WithTimeout(ctx, exitPatience)
	defer cancel()
	for range killRounds {
		pids, err := processes(dirs)
		if err != nil || len(pids) == 0 {
			return err
		}
		if err := killOnce(ctx, dirs, pids); err != nil {
			return err
		}
	}
	return errors.New("processes keep appearing while they are killed")
}

// killOnce kills by pidfd, so that a PID that is reused in the meantime is not
// hit: a process that is still in the group after its pidfd was opened is the
// one that pidfd stands for.
func killOnce(ctx context.Context, dirs []string, pids map[int]bool) error {
	pidfds := map[int]int{}
	defer func() {
		for _, fd := range pidfds {
			_ = unix.Close(fd)
		}
	}()
	for pid := range pids {
		if pid == os.Getpid() {
			return errors.New("lifepod itself is in the pod's cgroup")
		}
		fd, err := unix.PidfdOpen(pid, 0)
		if errors.Is(err, unix.ESRCH) {
			continue
		}
		if err != nil {
			return fmt.Errorf("open process %d: %w", pid, err)
		}
		pidfds[pid] = fd
	}
	still, err := processes(dirs)
	if err != nil {
		return err
	}
	maps.DeleteFunc(pidfds, func(pid, fd int) bool { return !still[pid] && unix.Close(fd) == nil })
	for pid, fd := range pidfds {
		if err := unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0); err != nil && !errors.Is(err, unix.ESRCH) {
			return fmt.Errorf("kill process %d: %w", pid, err)
		}
	}
	for pid, fd := range pidfds {
		if err := awaitExit(ctx, pid, fd); err != nil {
			return err
		}
	}
	return nil
}

// awaitExit waits until a pidfd reports the end of its process.
func awaitExit(ctx context.Context, pid, fd int) error {
	deadline, _ := ctx.Deadline()
	for {
		left := time.Until(deadline).Milliseconds()
		if left <= 0 || ctx.Err() != nil {
			return fmt.Errorf("process %d does not end after SIGKILL", pid)
		}
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(min(left, 100)))
		if err != nil && !errors.Is(err, unix.EINTR) {
			return fmt.Errorf("wait for process %d: %w", pid, err)
		}
		if n > 0 {
			return nil
		}
	}
}

// processes lists the PIDs in the folders and below. Folders that vanish while
// they are read are what removal is about.
func processes(dirs []string) (map[int]bool, error) {
	out := map[int]bool{}
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
			if err != nil || !entry.IsDir() {
				return ignoreMissing(err)
			}
			pids, err := cgroups.GetPids(path)
			for _, pid := range pids {
				out[pid] = true
			}
			return ignoreMissing(err)
		})
		if err != nil {
			return nil, fmt.Errorf("list processes: %w", err)
		}
	}
	delete(out, 0)
	return out, nil
}

func ignoreMissing(err error) error {
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ENODEV) {
		return nil
	}
	return err
}
