package cluster

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// lock keeps a second process from the same cluster, until it is released; the
// kernel does that when the process dies.
func (l *layout) lock() (release func(), err error) {
	path := l.file("up.lock")
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the cluster: %w", err)
	}
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		pid, _ := os.ReadFile(path) // without it the error says less
		return nil, errors.Join(fmt.Errorf("the cluster or node of %s runs already (process %s): see `lifepod status`, end it with `lifepod down`, or use another --root",
			l.Root, strings.TrimSpace(string(pid))), file.Close())
	}
	if err := errors.Join(file.Truncate(0), writePid(file)); err != nil {
		return nil, errors.Join(fmt.Errorf("lock the cluster: %w", err), file.Close())
	}
	return func() { _ = file.Close() }, nil
}

func writePid(file *os.File) error {
	_, err := file.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err
}

// process is the one that runs the cluster, 0 if none does.
func (l *layout) process() (int, error) {
	file, err := os.Open(l.file("up.lock"))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("who runs the cluster: %w", err)
	}
	defer func() { _ = file.Close() }() // only read
	if unix.Flock(int(file.Fd()), unix.LOCK_SH|unix.LOCK_NB) == nil {
		return 0, nil
	}
	text, err := os.ReadFile(file.Name())
	if err != nil {
		return 0, fmt.Errorf("who runs the cluster: %w", err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0, fmt.Errorf("who runs the cluster: %w", err)
	}
	return pid, nil
}
