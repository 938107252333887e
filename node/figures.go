package node

import (
	"github.com/lifepod/lifepod/node/server"
	"github.com/lifepod/lifepod/node/stats"
	"github.com/lifepod/lifepod/worker/podcgroup"
)

// figures are what is measured of the node and its pods.
func (m *member) figures() server.Figures {
	pods := stats.Pods{
		List: m.pods.Pods, Foreign: m.Foreign, Dir: m.engine.PodsDir, LogDir: m.pods.LogDir,
		Cgroup: m.engine.Cgroups.Path, CgroupRoot: m.engine.Cgroups.(podcgroup.Driver).Root(),
	}
	if api := m.engine.VolumeAPI; api != nil {
		pods.Bound = api.PersistentVolume
	}
	s := stats.New(stats.Config{
		NodeName: m.name, Runtime: m.runtime.Client.Runtime, Images: m.runtime.Client.Images, RuntimeSocket: m.runtime.Socket(),
		Pods: pods, VolumePeriod: m.config.Kubelet.VolumeStatsAggPeriod.Duration, Log: m.Log,
	})
	counts := m.metrics
	counts.Register(s)
	counts.Census(m.census)
	counts.Certificate("client", m.cluster.connection.Expires)
	counts.Certificate("server", m.cluster.serving.Expires)
	healthy := map[string]func() error{"syncloop": m.healthy}
	return server.Figures{
		Metrics: counts.Handler(), Probes: counts.ProbesHandler(), SLIs: counts.SLIsHandler(healthy), Count: counts.HTTP,
		Resource: s.ResourceHandler(), CAdvisor: s.CAdvisorHandler(), Summary: s.SummaryHandler(),
	}
}
