package node

import (
	"fmt"

	"github.com/lifepod/lifepod/node/space"
	"github.com/lifepod/lifepod/node/stats"
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
