package cluster

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/lifepod/lifepod/bundle"
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
		return nil, errors.Join(l.runsAlready(strings.TrimSpace(string(pid))), file.Close())
	}
	if err := errors.Join(file.Truncate(0), writePid(file)); err != nil {
		return nil, errors.Join(fmt.Errorf("lock the cluster: %w", err), file.Close())
	}
	return func() { _ = file.Close() }, nil
}

func (l *layout) runsAlready(pid string) error {
	return fmt.Errorf("the cluster or node of %s runs already (process %s): see `%s`, end it with `%s`, or use another --root",
		l.Root, pid, bundle.Command(l.Root, "status"), bundle.Command(l.Root, "down"))
}

// Idle returns an error if a process runs the cluster, or the node, of a state folder.
func Idle(root string) error {
	l, err := Config{Root: root}.layout()
	if err != nil {
		return err
	}
	pid, err := l.process()
	if err == nil && pid != 0 {
		err = l.runsAlready(strconv.Itoa(pid))
	}
	return err
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
