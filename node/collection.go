package node

import (
	"path/filepath"

	"github.com/lifepod/lifepod/bundle"
	"github.com/lifepod/lifepod/node/space"
	"github.com/lifepod/lifepod/pods"
)

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
