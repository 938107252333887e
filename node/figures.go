package node

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/node/server"
	"github.com/lifepod/lifepod/node/stats"
	"github.com/lifepod/lifepod/roster"
	"github.com/lifepod/lifepod/worker"
)

// measured are the pods whose use of the machine is measured.
func measured(list func() []*v1.Pod, engine *worker.Engine, m machine, u uses) stats.Pods {
	of := stats.Pods{
		List: list, Foreign: m.foreign, Dir: engine.Folders.Pods, LogDir: engine.Config.PodLogDirectory,
		Cgroup: m.cgroups.Path, CgroupRoot: m.cgroups.Root(),
	}
	if u.objects != nil {
		of.Bound = u.objects.PersistentVolume
	}
	if u.cluster != nil {
		of.OfDriver = u.cluster.volumes.Stats
	}
	return of
}

// newStats measures the node and its pods.
func (s *setup) newStats(of stats.Pods) *stats.Stats {
	return stats.New(stats.Config{
		NodeName: s.name, Runtime: s.calls.Runtime, Images: s.calls.Images, RuntimeSocket: s.runtime.Socket(),
		Pods: of, VolumePeriod: s.config.Kubelet.VolumeStatsAggPeriod.Duration, Measured: s.counts.VolumeMeasured, Log: s.log,
	})
}

// figures are what is measured of the node and its pods, for others.
func (s *setup) figures(c *cluster, view view, all *stats.Stats) server.Figures {
	counts := s.counts
	counts.Register(all)
	counts.Census(view.census)
	counts.Certificate("client", c.connection.Expires)
	counts.Certificate("server", c.serving.Expires)
	healthy := map[string]func() error{"syncloop": view.Healthy}
	return server.Figures{
		Metrics: counts.Handler(), Probes: counts.ProbesHandler(), SLIs: counts.SLIsHandler(healthy), Count: counts.HTTP, Trace: s.traces.Served,
		Resource: all.ResourceHandler(), CAdvisor: all.CAdvisorHandler(), Summary: all.SummaryHandler(),
	}
}

// census is where each pod stands, for metrics (B-WRK-26).
func (v view) census() []stats.MetricsPod {
	var list []stats.MetricsPod
	for _, view := range v.Views() {
		list = append(list, stats.MetricsPod{
			Status: &view.Pod.Status, Priority: ptr.Deref(view.Pod.Spec.Priority, 0), Static: view.Source.Static(),
			Desired: view.Wanted, Runtime: view.Source == roster.Runtime, Lifecycle: asWorker(view),
		})
	}
	return list
}

// asWorker is how far a pod has come, as the kubelet tells it of its workers.
func asWorker(view roster.View) string {
	ends := view.Pod.DeletionTimestamp != nil || lifecycle.Terminal(view.Pod.Status.Phase) || view.Source == roster.Runtime || view.Evicted
	switch view.Position {
	case roster.Over:
		return "terminated"
	case roster.Unheard, roster.Waiting:
		return ""
	case roster.Leaving:
		return "terminating"
	case roster.Looking, roster.Living, roster.Paused:
	}
	if ends {
		return "terminating"
	}
	return "sync"
}
