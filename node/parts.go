package node

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/host"
	"github.com/lifepod/lifepod/node/devices"
	"github.com/lifepod/lifepod/node/register"
	"github.com/lifepod/lifepod/node/server"
	"github.com/lifepod/lifepod/node/shutdown"
	"github.com/lifepod/lifepod/node/space"
	"github.com/lifepod/lifepod/pods"
	"github.com/lifepod/lifepod/worker"
)

// parts are those of a node that run.
type parts struct {
	cluster   *cluster       // nil without one
	network   *podNetwork    // nil: the pods' network is the runtime's own affair
	node      *register.Node // the API's object
	workers   *worker.Engine // the machine as the pods' workers have it
	devices   *devices.Devices
	resources *devices.Resources // what pods have for themselves, devices too
	pods      *pods.Shell
	shuts     *shutdown.Watcher // nil: pods get no time to end when the machine shuts down
	pressure  *space.Pressure   // measures what the machine runs short of
	view      view              // the pods, and what they depend on
	sources   sources
	collect   *space.Collector
	limits    *podsLimiter
	server    *server.Server // nil: the node has no API
	ooms      systemOOMs
}

// newParts makes the parts of a node, each of those before it. What one tells a later
// one is left in the inbox, or in changes.
func (s *setup) newParts(ctx context.Context) (*parts, error) {
	machine, err := s.newMachine()
	if err != nil {
		return nil, err
	}
	var shell *pods.Shell
	inbox, changes, conditions := pods.NewInbox(), &server.Changes{}, &space.Conditions{}
	cluster, err := s.newCluster(inbox, func() { shell.DriverRegistered() })
	if err != nil {
		return nil, err
	}
	podNetwork, err := s.newPodNetwork(ctx)
	if err != nil {
		return nil, err
	}
	shutdowns, health, plugins := s.newShutdowns(cluster, inbox), newHealth(s.calls.Runtime, s.options.memory().Dir), s.newDevices(inbox)
	node, err := s.newNode(cluster, notReady{network: podNetwork, shutdowns: shutdowns, health: health}, conditions, plugins)
	if err != nil {
		return nil, err
	}
	addresses, err := node.Addresses(ctx)
	if err != nil {
		return nil, fmt.Errorf("addresses of the node: %w", err)
	}
	cluster.addressed(addresses)
	given, limits, err := s.allot(&machine, node, cluster, plugins)
	if err != nil {
		return nil, err
	}
	local, err := s.local(cluster)
	if err != nil {
		return nil, err
	}
	uses := s.newUses(ctx, cluster, node, inbox)
	images, err := s.newImages(ctx, uses.serviceAccounts(), node.ImagesChanged)
	if err != nil {
		return nil, err
	}
	workers := s.newEngine(machine, node, given)
	workers.Images, workers.API, workers.Assigners, workers.Admission = images, uses.api(s.counts.VolumeOperation), append(uses.assigners(), given), worker.Admission{Room: inbox.Room}
	workers.Network, workers.Options = &network{runtime: s.calls.Runtime, given: podNetwork, traffic: s.options.Traffic}, s.podOptions(addresses)
	figures := s.newStats(measured(func() []*v1.Pod { return shell.Pods() }, workers, machine, uses))
	short := s.newPressure(cluster, figures, machine.pressure, space.PressureConfig{Tell: inbox.NodeMeasured, Conditions: conditions, Changed: node.Changed})
	shell = pods.New(pods.Config{
		Inbox: inbox, Engine: workers, Host: machine.admits, Sources: s.origins(), Node: node.Node, Memory: s.options.memory(),
		Cluster: cluster.forPods(uses.objects, changes), Local: local, Pressure: machine.pressure, Reclaimer: short, Counts: s.counts, Log: s.log,
		RuntimeChanged: node.RuntimeChanged, Allocator: given, Health: healths{plugins.Health, uses.healthOfClaims}.of, Shutdowns: shutdowns, Periods: shutdownPeriods(s.config.Kubelet),
	})
	view := view{shown: shell, health: health, changes: changes, figures: figures}
	server, err := s.newServer(cluster, view, changes, figures)
	if err != nil {
		return nil, err
	}
	collector := newCollector(s, shell, images, cluster)
	short.Reclaimer, given.Containers.Known = collector, shell.Knows
	return &parts{
		cluster: cluster, network: podNetwork, node: node, workers: workers, devices: plugins, resources: given, pods: shell, shuts: shutdowns, pressure: short, view: view,
		sources: s.newSources(shell, cluster, uses.files), collect: collector, server: server, limits: limits, ooms: s.newSystemOOMs(cluster),
	}, nil
}

// looksAtOnce is how many pods are looked at at the same time for what events have not told: enough to keep a runtime busy.
const looksAtOnce = 32

// newEngine is what the pods' workers share of the machine and its runtime.
func (s *setup) newEngine(m machine, node *register.Node, given *devices.Resources) *worker.Engine {
	return &worker.Engine{
		Runtime: s.calls.Runtime, Features: s.features, Handler: s.runtime.Handler, Cgroups: m.cgroups, DNS: m.dns, Config: m.config, Folders: m.folders,
		Allocatable: node.Node().Status.Allocatable, Timeouts: timeouts(s.config), Looks: make(worker.Looks, looksAtOnce),
		Clock: worker.Clock{Machine: host.Clock}, Watch: watches{s.counts, given}, JournalWrote: s.counts.Journal, Tracer: s.traces.Tracer(), Logs: worker.NewLogs(m.logs, s.calls.Runtime, s.log), Log: s.log,
	}
}
