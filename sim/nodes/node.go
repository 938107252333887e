package nodes

import (
	"context"
	"log/slog"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/cpuset"

	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/node/record"
	"github.com/lifepod/lifepod/node/register"
	"github.com/lifepod/lifepod/node/source"
	"github.com/lifepod/lifepod/node/telling"
	"github.com/lifepod/lifepod/pods"
	"github.com/lifepod/lifepod/roster"
	"github.com/lifepod/lifepod/sim/nodes/still"
	"github.com/lifepod/lifepod/sim/nodes/times"
	"github.com/lifepod/lifepod/worker"
	"github.com/lifepod/lifepod/worker/admission"
)

// node is one of the nodes.
type node struct {
	set      *set
	name     string
	object   *register.Node
	pods     *pods.Shell
	statuses telling.Statuses
	events   *record.Recorder
	times    *times.Conversion
	log      *slog.Logger
}

const (
	// So many statuses, and so many events, all nodes write at the same time. More would not be written sooner:
	// the API server would answer each later, until nobody waits for the answer any more.
	statusesInFlight, eventsInFlight = 64, 8
	// The kubelet's eventRecordQPS and eventBurst.
	eventsPerSecond, eventBurst = 50, 100
)

// newNode makes the parts of a node, as package node does for one with a machine.
func (s *set) newNode(i int) (n *node, err error) {
	n = &node{set: s, name: s.nameOf(i), times: times.New(s.Pods.Time)}
	n.log = s.Log.With("node", n.name)
	n.statuses = telling.NewStatuses(s.client, s.statuses, n.log)
	n.events = record.New(record.Config{
		Client: s.client, Log: n.log, Node: n.name, QPS: eventsPerSecond, Burst: eventBurst, Delay: telling.EventDelay, Again: telling.EventAgain,
		Slots: s.events,
	})
	if n.object, err = n.newObject(i); err != nil {
		return nil, err
	}
	inbox := pods.NewInbox()
	options := lifecycle.DefaultOptions()
	options.RuntimeName, options.KeepRecords, options.HostIPs = still.Name, true, []string{s.api.HostIP()}
	allocatable := n.object.Node().Status.Allocatable
	engine := &worker.Engine{
		Simulated: s.Pods.Simulate, Allocatable: allocatable, Options: options, Timeouts: worker.DefaultTimeouts(), Log: n.log,
		Admission: worker.Admission{Room: inbox.Room}, Clock: worker.Clock{Virtual: s.Pods.Time},
	}
	n.pods = pods.New(pods.Config{
		Inbox: inbox, Engine: engine, Host: admission.Host{Allocatable: allocatable, SupplementalGroupsPolicy: true, Claims: true, AppArmor: true},
		Sources: []roster.Source{roster.API}, Node: n.object.Node, Log: n.log,
		Cluster: pods.Cluster{
			Statuses: n.times.StatusesOf(n.statuses), Events: n.times.EventsOf(telling.Events{Statuses: n.statuses, Recorder: n.events}),
			Groups: s.shared.groups, FreshNode: n.fresh,
			Objects: &s.Pods.Logs, Changed: s.api.Changed,
		},
	})
	s.Time.Manual.Add(n.name, n.pods, n.statuses)
	return n, nil
}

// newObject describes the node.
func (n *node) newObject(i int) (*register.Node, error) {
	s := n.set
	cpus := make([]int, s.Size.CPUs)
	for i := range cpus {
		cpus[i] = i
	}
	id := uuid(s.Pods.Seed, i)
	return register.NewSimulated(register.Config{
		Name: n.name, Labels: s.Labels, Taints: s.Taints, Port: s.api.Port(), FeatureGates: register.FeaturesOn(),
		Resources: register.Resources{MaxPods: s.Size.Pods},
		API:       register.API{Client: s.client, Shared: s.shared.objects},
		Runtime:   register.Runtime{Service: still.Runtime{}, Images: still.Runtime{}},
		Senses: register.Senses{Event: func(kind, reason, message string) {
			n.events.Record(record.Event{Object: record.Node(n.name), Type: kind, Reason: reason, Message: message, At: time.Now()})
		}},
		Log: n.log,
	}, register.Machine{
		CPUs: cpuset.New(cpus...), MemoryBytes: s.Size.MemoryBytes, StorageBytes: storageBytes,
		MachineID: id, SystemUUID: id, BootID: uuid(uint64(time.Now().UnixNano()), i), Kernel: "simulated", OSImage: "lifepod sim",
	}, s.api.Addresses())
}

// storageBytes is the node's ephemeral storage.
const storageBytes = 1 << 40

// fresh is the Node as the API server has it now.
func (n *node) fresh(ctx context.Context) (*v1.Node, error) {
	return n.set.client.CoreV1().Nodes().Get(ctx, n.name, metav1.GetOptions{})
}

// run is the node until ctx ends. known is called once, when the cluster knows it or ctx has ended.
func (n *node) run(ctx context.Context, known func()) {
	var beside sync.WaitGroup
	defer beside.Wait()
	recording, recorded := context.WithCancel(context.WithoutCancel(ctx))
	defer recorded() // after the pods: their last events are told
	beside.Go(func() { n.events.Run(recording) })
	beside.Go(func() { n.statuses.Run(ctx) })
	beside.Go(func() { n.object.Run(ctx) })
	if err := n.pods.Open(ctx); err != nil { // it looks for nothing on disk, and nothing in a runtime
		n.log.Error("the node does not begin", "err", err)
	}
	select {
	case <-ctx.Done():
		known()
	case <-n.object.Known():
		known()
		n.set.shared.sources.Add(&source.API{NodeName: n.name, Feed: n.times.FeedOf(telling.Feed{Pods: n.pods, Statuses: n.statuses}), Log: n.log})
		defer n.set.shared.sources.Remove(n.name)
		<-ctx.Done()
	}
	n.pods.Wait()
}
