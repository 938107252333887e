package pods

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lifepod/lifepod/internal/rootfolder"
)

// LockFile is locked by the agent that runs the pods.
const LockFile = "agent.lock"

// Lock keeps a second agent from running the same pods until it is released. The kernel
// releases it when the process dies.
func (m MemoryFolder) Lock() (release func(), err error) {
	if err := rootfolder.Ensure(m.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("folder of what is remembered: %w", err)
	}
	path := filepath.Join(m.Dir, LockFile)
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

func (m MemoryFolder) Locked() bool {
	file, err := os.Open(filepath.Join(m.Dir, LockFile))
	if errors.Is(err, fs.ErrNotExist) {
		return false
	}
	if err != nil {
		return true // nothing is said of pods of which this is not known
	}
	defer func() { _ = file.Close() }() // which unlocks
	return unix.Flock(int(file.Fd()), unix.LOCK_SH|unix.LOCK_NB) != nil
}
