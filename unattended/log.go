package unattended

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/lifepod/lifepod/control"
	"github.com/lifepod/lifepod/worker/podlog"
)

// Log writes what there is of a container's log, of the instance before if previous.
func (p Pod) Log(w io.Writer, container string, previous bool, o podlog.LineOptions) error {
	if names := control.ContainerNames(p.Pod); !slices.Contains(names, container) {
		return fmt.Errorf("pod %s has no container %q: it has %s", p.Name, container, strings.Join(names, ", "))
	}
	if podlog.StatusOf(p.Pod, container) == nil {
		return fmt.Errorf("container %q of pod %s had not started: no logs", container, p.Name)
	}
	instances, err := podlog.Instances(p.Pod, container, previous)
	if err != nil {
		return err
	}
	for _, n := range instances {
		log := podlog.OpenInstance(p.LogDir, container, n, func() {})
		if log == nil {
			continue
		}
		defer log.Close()
		lines := podlog.NewLines(w, o)
		lines.All(log)
		return lines.Err()
	}
	return fmt.Errorf("the log of container %q, restart count %d, is not there any more", container, instances[0])
}
