package node

import (
	"github.com/lifepod/lifepod/node/server"
	"github.com/lifepod/lifepod/node/stats"
	"github.com/lifepod/lifepod/pods"
)

// measured are the pods whose use of the machine is measured.
func measured(shell *pods.Shell, m machine, u uses) stats.Pods {
	of := stats.Pods{
		List: shell.Pods, Foreign: shell.Local.Foreign, Dir: m.folders.Pods, LogDir: shell.LogDir,
		Cgroup: m.cgroups.Path, CgroupRoot: m.cgroups.Root(),
	}
	if u.objects != nil {
		of.Bound = u.objects.PersistentVolume
	}
	return of
}

// figures are what is measured of the node and its pods.
func (s *setup) figures(c *cluster, view view, of stats.Pods) server.Figures {
	all := stats.New(stats.Config{
		NodeName: s.name, Runtime: s.calls.Runtime, Images: s.calls.Images, RuntimeSocket: s.runtime.Socket(),
		Pods: of, VolumePeriod: s.config.Kubelet.VolumeStatsAggPeriod.Duration, Log: s.log,
	})
	counts := s.counts
	counts.Register(all)
	counts.Census(view.census)
	counts.Certificate("client", c.connection.Expires)
	counts.Certificate("server", c.serving.Expires)
	healthy := map[string]func() error{"syncloop": view.Healthy}
	return server.Figures{
		Metrics: counts.Handler(), Probes: counts.ProbesHandler(), SLIs: counts.SLIsHandler(healthy), Count: counts.HTTP,
		Resource: all.ResourceHandler(), CAdvisor: all.CAdvisorHandler(), Summary: all.SummaryHandler(),
	}
}
