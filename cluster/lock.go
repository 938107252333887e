package cluster

import (
	"errors"
	"fmt"

	"github.com/lifepod/lifepod/bundle"
	"github.com/lifepod/lifepod/cluster/backup"
)

// lock keeps a second process from the same cluster, until it is released; the
// kernel does that when the process dies.
func (l *layout) lock() (release func(), err error) {
	if release, err = backup.Hold(l.file("")); errors.Is(err, backup.ErrRunning) {
		pid, _ := l.process() // without it the error says less
		err = l.runsAlready(pid)
	}
	return release, err
}

func (l *layout) runsAlready(pid int) error {
	return fmt.Errorf("the cluster or node of %s runs already (process %d): see `%s`, end it with `%s`, or use another --root",
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
		err = l.runsAlready(pid)
	}
	return err
}

// process is the one that runs the cluster, 0 if none does.
func (l *layout) process() (int, error) {
	pid, err := backup.Holder(l.file(""))
	if err != nil {
		return 0, fmt.Errorf("who runs the cluster: %w", err)
	}
	return pid, nil
}
