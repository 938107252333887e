package nodes

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"k8s.io/utils/cpuset"

	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/node/groups"
	"github.com/lifepod/lifepod/node/groups/transport"
	"github.com/lifepod/lifepod/node/publish"
	"github.com/lifepod/lifepod/node/register"
	"github.com/lifepod/lifepod/node/source"
	"github.com/lifepod/lifepod/pods"
	"github.com/lifepod/lifepod/roster"
	"github.com/lifepod/lifepod/roster/admit"
	"github.com/lifepod/lifepod/worker"
)

// node is one of the nodes, from a start of its machine to the next one.
type node struct {
	*Machine
	set      *set
	number   int
	object   *register.Node
	pods     *pods.Shell
	statuses publish.Statuses
	events   *publish.Recorder
	groups   *groups.Groups
	times    *Conversion
	joined   chan struct{} // closed when it is told of its pods
	log      *slog.Logger
}

const (
	// StatusesInFlight is how many statuses all nodes write at the same time. Nodes with machines of their own would have no such
	// bound: a thousand pods that change at once are written at once, and controllers that follow them look once at many changes.
	// With more, an API server with few cores would answer each so late that nobody waits for the answer any more, and one that
	// limits how many requests of a client wait (50 in each of 6 queues) would refuse some.
	StatusesInFlight = 256
	// So many events they write.
	eventsInFlight = 8
	// The kubelet's eventRecordQPS and eventBurst.
	eventsPerSecond, eventBurst = 50, 100
	// heartbeat is that between nodes: thousands have one process.
	heartbeat = time.Second
)

// newNode makes the parts of a node, as package node does for one with a machine.
func (s *set) newNode(i int, m *Machine, t *Conversion) (n *node, err error) {
	n = &node{Machine: m, set: s, number: i, times: t, joined: make(chan struct{}), log: s.Log.With("node", m.Name)}
	n.statuses = publish.NewStatuses(n.Client, s.slots.statuses, n.log)
	n.events = publish.NewRecorder(publish.RecorderConfig{
		Client: n.Client, Log: n.log, Node: n.Name, QPS: eventsPerSecond, Burst: eventBurst, Delay: publish.EventDelay, Again: publish.EventAgain,
		Slots: s.slots.events, Busy: s.slots.writingStatuses,
	})
	peer := transport.New(transport.Options{Name: n.Name, Way: n.ways.Way(n.Name), Heartbeat: heartbeat, Log: n.log})
	n.groups = &groups.Groups{JobSets: n.jobSets, Members: groups.NewMembers(groups.MembersConfig{
		Client: n.Client, Node: peer, Port: s.api.Port(), Kept: n.kept, Log: n.log,
	})}
	n.ways.Add(peer)
	if n.object, err = n.newObject(); err != nil {
		return nil, err
	}
	inbox := pods.NewInbox()
	options := lifecycle.DefaultOptions()
	options.RuntimeName, options.KeepRecords, options.HostIPs = RuntimeName, true, []string{s.api.HostIP()}
	allocatable := n.object.Node().Status.Allocatable
	engine := &worker.Engine{
		Simulated: n.Simulate, Allocatable: allocatable, Options: options, Timeouts: worker.DefaultTimeouts(), Log: n.log,
		Admission: worker.Admission{Room: inbox.Room}, Clock: worker.Clock{Virtual: s.Pods.Time},
	}
	n.pods = pods.New(pods.Config{
		Inbox: inbox, Engine: engine, Host: admit.Host{Allocatable: allocatable, SupplementalGroupsPolicy: true, Claims: true, AppArmor: true},
		Sources: []roster.Source{roster.API}, Node: n.object.Node, Memory: n.Memory, Log: n.log,
		Cluster: pods.Cluster{
			Statuses: n.times.StatusesOf(n.statuses), Events: n.times.EventsOf(publish.Events{Statuses: n.statuses, Recorder: n.events}),
			Groups: n.groups, FreshNode: n.FreshNode,
			Objects: &s.Pods.Logs, Changed: s.api.Changed,
		},
	})
	s.Time.Manual.Add(n.Name, n.pods, n.statuses)
	return n, nil
}

func (n *node) newObject() (*register.Node, error) {
	s := n.set
	cpus := make([]int, s.Size.CPUs)
	for i := range cpus {
		cpus[i] = i
	}
	id := uuid(s.Pods.Seed, n.number)
	return register.NewSimulated(register.Config{
		Name: n.Name, Labels: s.Labels, Taints: s.Taints, Port: s.api.Port(), FeatureGates: register.FeaturesOn(),
		Resources: register.Resources{MaxPods: s.Size.Pods},
		API:       register.API{Client: n.Client, Shared: s.shared.objects},
		Runtime:   register.Runtime{Service: Still{}, Images: Still{}},
		Senses: register.Senses{Event: func(kind, reason, message string) {
			n.events.Record(publish.Event{Object: publish.NodeReference(n.Name, n.object.Node().UID), Type: kind, Reason: reason, Message: message, At: time.Now()})
		}},
		Log: n.log,
	}, register.Machine{
		CPUs: cpuset.New(cpus...), MemoryBytes: s.Size.MemoryBytes, StorageBytes: storageBytes,
		MachineID: id, SystemUUID: id, BootID: uuid(uint64(time.Now().UnixNano()), n.number), Kernel: "simulated", OSImage: "lifepod sim",
		Annotations: map[string]string{PathAnnotation: UsagePath(n.Name)},
	}, s.api.Addresses())
}

// storageBytes is the node's ephemeral storage.
const storageBytes = 1 << 40

// run is the node until ctx ends. known is called once, when the cluster knows it or ctx has ended.
func (n *node) run(ctx context.Context, known func()) {
	var beside sync.WaitGroup
	defer beside.Wait()
	recording, recorded := context.WithCancel(context.WithoutCancel(ctx))
	defer recorded() // after the pods: their last events are reported
	beside.Go(func() { n.events.Run(recording) })
	beside.Go(func() { n.statuses.Run(ctx) })
	beside.Go(func() { n.groups.Members.Run(ctx) })
	if err := n.pods.Open(ctx); err != nil { // it looks for nothing on disk, and nothing in a runtime
		n.log.Error("the node does not begin", "err", err)
	}
	var joining sync.WaitGroup
	joining.Go(func() { n.join(ctx, known) })
	n.object.Run(ctx)
	joining.Wait()
	n.pods.Wait()
	n.set.shared.sources.Remove(n.Name)
}

// join has the node told of its pods once the cluster knows it.
func (n *node) join(ctx context.Context, known func()) {
	defer known()
	select {
	case <-ctx.Done():
	case <-n.object.Known():
		n.set.shared.sources.Add(&source.API{NodeName: n.Name, Feed: n.times.FeedOf(publish.Feed{Pods: n.pods, Statuses: n.statuses}), Log: n.log})
		close(n.joined)
	}
}
