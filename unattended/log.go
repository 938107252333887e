package unattended

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/lifepod/lifepod/control"
	"github.com/lifepod/lifepod/worker/podlog"
)

// Log writes what there is of a container's log: of the newest instance, or of that many instances before. What was
// removed is read from the journal, which keeps the last 64 KiB of an instance that has ended.
func (p Pod) Log(w io.Writer, container string, back int, o podlog.LineOptions) error {
	if names := control.ContainerNames(p.Pod); !slices.Contains(names, container) {
		return fmt.Errorf("pod %s has no container %q: it has %s", p.Name, container, strings.Join(names, ", "))
	}
	status := podlog.StatusOf(p.Pod, container)
	if status == nil {
		return fmt.Errorf("container %q of pod %s had not started: no logs", container, p.Name)
	}
	instances := []int{int(status.RestartCount) - back}
	if !p.Over {
		var err error
		if instances, err = podlog.Instances(p.Pod, container, back > 0); err != nil {
			return err
		}
		instances[0] -= max(0, back-1)
	}
	if instances[0] < 0 {
		return fmt.Errorf("container %q of pod %s has not been restarted so often: its restart count is %d", container, p.Name, status.RestartCount)
	}
	for _, n := range instances {
		if p.LogDir == "" {
			break
		}
		if log := podlog.OpenInstance(p.LogDir, container, n, func() {}); log != nil {
			defer log.Close()
			lines := podlog.NewLines(w, o)
			lines.All(log)
			return lines.Err()
		}
	}
	return p.keptLog(w, container, instances[0], o)
}

// keptLog writes what the journal has of an instance's log.
func (p Pod) keptLog(w io.Writer, container string, instance int, o podlog.LineOptions) error {
	for _, j := range p.Journals {
		log, err := j.Log(string(p.UID), container, uint32(instance)) //nolint:gosec // not negative
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return err
		case o.Timestamps || !o.Since.IsZero():
			return fmt.Errorf("the journal keeps no times of lines of container %q, restart count %d", container, instance)
		}
		lines := slices.Collect(bytes.Lines(log))
		if o.Tail >= 0 {
			lines = lines[max(0, len(lines)-int(o.Tail)):]
		}
		for _, line := range lines {
			if _, err := w.Write(line); err != nil {
				return err
			}
		}
		return nil
	}
	return fmt.Errorf("the log of container %q, restart count %d, is not there any more: the journal keeps those of its first end and of its last five", container, instance)
}
