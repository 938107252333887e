package pidfd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/opencontainers/cgroups"
	"golang.org/x/sys/unix"
)

const (
	// killTries bounds how often a group that forks while it is killed is
	// looked through again.
	killTries = 10
	// exitPatience is how long a killed process may take to be gone, where the
	// caller sets no earlier deadline: the kernel has to free its memory first.
	exitPatience = 10 * time.Second
)

// KillCgroups ends every process in the cgroups and those below, and waits until they
// are gone.
func KillCgroups(ctx context.Context, dirs ...string) error {
	ctx, cancel := context.WithTimeout(ctx, exitPatience)
	defer cancel()
	for range killTries {
		pids, err := InCgroups(dirs...)
		if err != nil || len(pids) == 0 {
			return err
		}
		if err := killOnce(ctx, dirs, pids); err != nil {
			return err
		}
	}
	return errors.New("processes keep appearing while they are killed")
}

// killOnce kills what is held, so that a PID that is reused in the meantime is not hit: a
// process that is still in the group after it was opened is the one that was opened.
func killOnce(ctx context.Context, dirs []string, pids map[int]bool) error {
	var open []*Process
	defer func() {
		for _, p := range open {
			p.Close()
		}
	}()
	for pid := range pids {
		if pid == os.Getpid() {
			return errors.New("lifepod itself is in the pod's cgroup")
		}
		p, err := OpenPID(pid)
		if errors.Is(err, ErrEnded) {
			continue
		}
		if err != nil {
			return err
		}
		open = append(open, p)
	}
	still, err := InCgroups(dirs...)
	if err != nil {
		return err
	}
	var killed []*Process
	for _, p := range open {
		if !still[p.PID] {
			continue
		}
		if err := p.Signal(unix.SIGKILL); err != nil {
			return err
		}
		killed = append(killed, p)
	}
	for _, p := range killed {
		if err := p.Wait(ctx); err != nil {
			return err
		}
	}
	return nil
}

// InCgroups are the PIDs in the cgroups and those below. Folders that vanish while
// they are read have none.
func InCgroups(dirs ...string) (map[int]bool, error) {
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

// KillChildren kills the children of a shim that is to be killed itself at once afterwards: of a
// container the first process, with which all its others end, or, with the host's PIDs, those that
// the shim has adopted. A shim that is killed leaves its containers running: nobody
// would end them any more.
func (p *Process) KillChildren() {
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", p.PID)) // the pattern is right
	for _, list := range lists {
		text, err := os.ReadFile(list)
		if err != nil {
			continue // the thread, or the process, has ended
		}
		for field := range strings.FieldsSeq(string(text)) {
			if pid, err := strconv.Atoi(field); err == nil && pid > 1 {
				_ = unix.Kill(pid, unix.SIGKILL) // it may have ended by itself
			}
		}
	}
}
