package space

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	"github.com/lifepod/lifepod/internal/mailbox"
	"github.com/lifepod/lifepod/node/stats"
	"github.com/lifepod/lifepod/roster/pressure"
)

// Reclaimer gives back what no pod needs.
type Reclaimer interface {
	// ReclaimImages removes all unused images.
	ReclaimImages(ctx context.Context) error
	// ReclaimContainers removes all dead containers that may go.
	ReclaimContainers(ctx context.Context) error
}

// PressureConfig is what a Pressure needs.
type PressureConfig struct {
	Stats      *stats.Stats
	Folder     string // on the node's file system: that of pods and logs
	PodsCgroup string // of all pods together
	Thresholds []pressure.Threshold
	// Tell is called with each measurement.
	Tell func(pressure.Observations, pressure.Disks)
	// Reclaimer may be nil: there is nothing to reclaim.
	Reclaimer Reclaimer
	// Conditions are those that the roster has set last; Changed is called after a change.
	Conditions *Conditions
	Changed    func()
	// RecordEvent records an event about the Node; may be nil.
	RecordEvent func(kind, reason, message string)
	Log         *slog.Logger
}

// Pressure measures what the machine may run short of.
type Pressure struct {
	PressureConfig
	wake       mailbox.Signal
	places     atomic.Pointer[places]
	complaints sync.Map // signals that could not be measured
}

// NewPressure prepares a Pressure; Run measures.
func NewPressure(c PressureConfig) *Pressure {
	n := &Pressure{PressureConfig: c, wake: mailbox.NewSignal()}
	n.places.Store(&places{node: c.Folder})
	return n
}

// Measure measures now.
func (n *Pressure) Measure() {
	n.wake.Send()
}

// shortestPause is the pause between two measurements at least, however often somebody
// asks.
const shortestPause = 20 * time.Millisecond

// Run measures until ctx ends. Without thresholds there is nothing to do.
func (n *Pressure) Run(ctx context.Context) {
	if len(n.Thresholds) == 0 {
		return
	}
	var beside sync.WaitGroup
	defer beside.Wait()
	beside.Go(func() { n.askPlaces(ctx) })
	kernel, err := newKernel(n.PodsCgroup, n.Measure)
	if err != nil {
		n.Log.Info("the kernel can't tell when memory gets short: it is measured more often instead", "err", err)
	} else {
		beside.Go(func() { kernel.run(ctx, n.Log) })
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for last := (time.Time{}); ; last = time.Now() {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-n.wake:
			time.Sleep(time.Until(last.Add(shortestPause)))
		}
		at := n.places.Load()
		seen := n.observe(at)
		n.Tell(seen, at.disks)
		if kernel != nil {
			kernel.arm(n.Thresholds)
		}
		timer.Reset(pause(n.Thresholds, seen))
	}
}

// Usage is what the pods use: of memory alone what is quick to know.
func (n *Pressure) Usage(ctx context.Context, signal pressure.Signal) (pressure.Usage, error) {
	if signal.Resource() == v1.ResourceMemory {
		list, err := n.Stats.PodsMemory()
		return usageOf(list), err
	}
	summary, err := n.Stats.Summary(ctx)
	if err != nil {
		return nil, err
	}
	return usageOf(summary.Pods), nil
}

func usageOf(list []statsapi.PodStats) pressure.Usage {
	used := pressure.Usage{}
	for i := range list {
		used[types.UID(list[i].PodRef.UID)] = &list[i]
	}
	return used
}

// Reclaim gives back what no pod needs, and measures what is left then (B-EVI-6).
func (n *Pressure) Reclaim(ctx context.Context, what pressure.Reclaims) pressure.Observations {
	if n.Reclaimer != nil && what.Containers {
		n.tried("dead containers", n.Reclaimer.ReclaimContainers(ctx))
	}
	if n.Reclaimer != nil && what.Images {
		n.tried("unused images", n.Reclaimer.ReclaimImages(ctx))
	}
	return n.observe(n.places.Load())
}

func (n *Pressure) tried(what string, err error) {
	if err != nil {
		n.Log.Warn("can't reclaim all "+what, "err", err)
	}
}

// SetConditions takes the Node's conditions of pressure.
func (n *Pressure) SetConditions(under []v1.NodeConditionType) {
	n.Conditions.now.Store(&under)
	n.Changed()
}

// Event records an event about the Node.
func (n *Pressure) Event(kind, reason, message string) {
	if n.RecordEvent != nil {
		n.RecordEvent(kind, reason, message)
	}
}
