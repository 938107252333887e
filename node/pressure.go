package node

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/bundle"
	"github.com/lifepod/lifepod/node/space"
	"github.com/lifepod/lifepod/node/stats"
	"github.com/lifepod/lifepod/pods"
	"github.com/lifepod/lifepod/roster/pressure"
)

// pressure is how the node answers when it runs short of something.
func (s *setup) pressure() (pressure.Config, error) {
	k := s.config.Kubelet
	thresholds, err := pressure.ParseThresholds(k)
	if err != nil {
		return pressure.Config{}, fmt.Errorf("thresholds of eviction: %w", err)
	}
	return pressure.Config{
		Thresholds: thresholds, Transition: k.EvictionPressureTransitionPeriod.Duration, MaxPodGrace: int64(k.EvictionMaxPodGracePeriod),
	}, nil
}

// newPressure makes what measures the node's resources; of has its callbacks.
func (s *setup) newPressure(c *cluster, figures *stats.Stats, answer pressure.Config, of space.PressureConfig) *space.Pressure {
	of.Stats, of.Folder, of.PodsCgroup = figures, figures.Pods.Dir, figures.Pods.CgroupRoot
	of.Thresholds, of.Log = answer.Thresholds, s.log
	if c != nil {
		of.RecordEvent = c.nodeEvent
	}
	return space.NewPressure(of)
}

// newCollector frees the node's disk of images and of what is left of pods.
func newCollector(s *setup, shell *pods.Shell, images *space.Claims, c *cluster) *space.Collector {
	k := s.config.Kubelet
	config := space.CollectorConfig{
		Policy: space.Policy{
			HighPercent: int(*k.ImageGCHighThresholdPercent), LowPercent: int(*k.ImageGCLowThresholdPercent),
			MinAge: k.ImageMinimumGCAge.Duration, MaxAge: k.ImageMaximumGCAge.Duration,
		},
		Runtime: s.calls.Runtime, Images: s.calls.Images, Claims: images, Pods: pods.Remains{Shell: shell},
		History: filepath.Join(s.options.memory().Dir, "images.json"),
		Carried: bundle.Carried, Log: s.log, Span: s.traces.Span,
	}
	if c != nil {
		config.Event = c.nodeEvent
	}
	if s.runtime.Containerd {
		config.GiveBack = s.runtime.CollectGarbage
	}
	collector := space.NewCollector(config)
	s.counts.Register(collector.Removed)
	return collector
}

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
