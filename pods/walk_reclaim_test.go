package pods

import (
	"context"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/roster/pressure"
)

// ram is the memory of a node that is short of it at times, whatever its pods do.
type ram struct{ short atomic.Bool }

// The node's memory in all, what it has left, and below which it is short of it.
const (
	capacity = 8 << 30
	enough   = 4 << 30
	little   = 10 << 20
	least    = 100 << 20
)

// pressed is how a node answers.
func pressed() pressure.Config {
	return pressure.Config{
		Thresholds: []pressure.Threshold{{Signal: pressure.Memory, Value: pressure.Value{Quantity: resource.NewQuantity(least, resource.BinarySI)}}},
		Transition: 30 * time.Second,
	}
}

// seen is what is measured now.
func (r *ram) seen() pressure.Observations {
	left := int64(enough)
	if r.short.Load() {
		left = little
	}
	return pressure.Observations{pressure.Memory: {Capacity: capacity, Available: left, At: time.Now()}}
}

// walkReclaimer is an agent's Reclaimer.
type walkReclaimer struct {
	*ram
	inbox *Inbox
}

func (r walkReclaimer) Measure() { r.inbox.NodeMeasured(r.seen(), pressure.Disks{}) }

// Usage knows of no pod's.
func (walkReclaimer) Usage(context.Context, pressure.Signal) (pressure.Usage, error) {
	return pressure.Usage{}, nil
}

func (r walkReclaimer) Reclaim(context.Context, pressure.Reclaims) pressure.Observations {
	return r.seen()
}
func (walkReclaimer) SetConditions([]v1.NodeConditionType) {}
func (walkReclaimer) Event(string, string, string)         {}

// monitor is who measures without being asked.
const monitor types.UID = "monitor"

// measures has the agent told what is measured now.
func (c *client) measures() {
	c.server.queue.Deliver(monitor, c.reclaimer, func() {
		if !c.dead.Load() {
			c.reclaimer.Measure()
		}
	})
}
