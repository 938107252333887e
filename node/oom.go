package node

import (
	"context"
	"fmt"
	"log/slog"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/node/space"
)

// systemOOMs tells of processes that the kernel kills because the whole machine is out of
// memory (B-OOM-2): in the log, and of a node in a cluster as an event.
type systemOOMs struct {
	open  func() (*space.OOMLog, error)
	event func(kind, reason, message string) // nil without a cluster
	log   *slog.Logger
}

func (s *setup) newSystemOOMs(c *cluster) systemOOMs {
	out := systemOOMs{open: space.OpenOOMLog, log: s.log}
	if c != nil {
		out.event = c.nodeEvent
	}
	return out
}

// run watches the kernel's log until ctx ends. A node that can't read it goes on without:
// its pods don't depend on it.
func (o systemOOMs) run(ctx context.Context) {
	log, err := o.open()
	if err == nil {
		err = log.Watch(ctx, o.tell)
	}
	if err != nil {
		o.log.Warn("there are no events SystemOOM when the machine is out of memory", "err", err)
	}
}

func (o systemOOMs) tell(v space.OOMVictim) {
	o.log.Warn("the machine is out of memory", "victim", v.Process, "pid", v.PID, "rule", "B-OOM-2")
	if o.event != nil {
		o.event(v1.EventTypeWarning, "SystemOOM", fmt.Sprintf("System OOM encountered, victim process: %s, pid: %d", v.Process, v.PID))
	}
}
