package node

import (
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/node/devices"
	"github.com/lifepod/lifepod/node/register"
	"github.com/lifepod/lifepod/worker"
)

// allot says which part of the machine pods may use: by name, and together.
func (s *setup) allot(m *machine, node *register.Node, c *cluster, plugins *devices.Devices) (*devices.Resources, *podsLimiter, error) {
	k := s.config.Kubelet
	given, err := devices.NewResources(devices.ResourcesConfig{
		Dir: s.options.rootDir(), Kubelet: k, Reserved: node.Reserved(), Devices: plugins, Runtime: s.calls.Runtime,
		Counts: s.counts.Managers(k), Log: s.log,
	})
	if err != nil {
		return nil, nil, err
	}
	s.counts.CPUs(given.Figures)
	own := func(uid types.UID, container string) bool { return given.CPUs(uid, container) != nil }
	m.config.CPULimits.OwnCPUs, m.cgroups.CPULimits.OwnCPUs = own, own
	limits, err := enforce(s, m, node, c)
	return given, limits, err
}

// watches are told what was carried out, one after the other.
type watches []worker.Watch

// Carried tells all of them.
func (w watches) Carried(pod *v1.Pod, effect lifecycle.Effect, answer lifecycle.Fact, took time.Duration) {
	for _, watch := range w {
		watch.Carried(pod, effect, answer, took)
	}
}
