package node

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// lockFile is locked by the agent whose pods they are.
const lockFile = "agent.lock"

// lock keeps a second agent from the same pods, until it is released. The kernel
// releases it when the process dies.
func (m Memory) lock() (release func(), err error) {
	if err := os.MkdirAll(m.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("folder of what is remembered: %w", err)
	}
	path := filepath.Join(m.Dir, lockFile)
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the node: %w", err)
	}
	if err := flockSoon(file); err != nil {
		pid, _ := os.ReadFile(path) // without it the error says less
		err = fmt.Errorf("another lifepod agent (process %s) runs the pods below %s: stop it, or use another --root-dir", strings.TrimSpace(string(pid)), filepath.Dir(m.Dir))
		return nil, errors.Join(err, file.Close())
	}
	_ = file.Truncate(0)
	_, _ = fmt.Fprintln(file, os.Getpid()) // for people
	return func() { _ = file.Close() }, nil
}

// A process that was killed may take a moment to be gone.
const (
	lockPatience = 3 * time.Second
	lockRetry    = 50 * time.Millisecond
)

func flockSoon(file *os.File) error {
	for until := time.Now().Add(lockPatience); ; time.Sleep(lockRetry) {
		err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil || time.Now().After(until) {
			return err
		}
	}
}
