package pods

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/cri/crifake"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/roster"
	"github.com/lifepod/lifepod/roster/admit"
	"github.com/lifepod/lifepod/roster/pressure"
	"github.com/lifepod/lifepod/worker"
	"github.com/lifepod/lifepod/worker/criconfig"
	"github.com/lifepod/lifepod/worker/images"
	"github.com/lifepod/lifepod/worker/volumes"
)

// ledNode is a node with its pods' agents, one after the other, and its API server, on a pretended runtime. Its queue says what
// comes next.
type ledNode struct {
	queue   *walkQueue
	server  *server
	runtime *crifake.Runtime
	dir     string
	node    *v1.Node
	files   map[types.UID]*v1.Pod // static pods, as the folder has them
	laws    *nodeLaws
	cgroups cgroups // making a pod's cgroup may panic
	drivers *drivers
	ram     ram
	play    func(*crifake.Runtime) // says what containers do
	kill    func()                 // nil: there is no agent
}

func newLedNode(dir string, seed uint64, devices int, play func(*crifake.Runtime)) *ledNode {
	n := &ledNode{
		queue: newWalkQueue(seed), dir: dir, play: play, files: map[types.UID]*v1.Pod{},
		cgroups: cgroups{panics: map[types.UID]int{}}, drivers: newDrivers(dir, devices), node: &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}},
	}
	n.node.Status.Allocatable = resources("4", "8Gi")
	n.node.Status.Allocatable[v1.ResourcePods] = resource.MustParse("200")
	n.server = newServer(n.queue)
	n.laws = newNodeLaws(n)
	n.boots()
	return n
}

// boots starts the machine: its runtime has nothing.
func (n *ledNode) boots() {
	n.runtime = crifake.New(image)
	n.play(n.runtime)
	n.drivers.reboots()
}

func (n *ledNode) begins(stale func([]*v1.Pod) *v1.Pod) error {
	inbox := NewInbox()
	c := &client{server: n.server, unsent: map[types.UID]sentStatus{}, laws: n.laws, reclaimer: walkReclaimer{&n.ram, inbox}}
	engine := &worker.Engine{
		Runtime: n.runtime, Images: images.New(n.runtime, images.Options{}), Cgroups: &n.cgroups,
		API: worker.API{Objects: func(*v1.Pod) worker.Objects { return noObjects{} }, Volumes: noVolumes{}, CSI: n.drivers, Claims: n.drivers}, Admission: worker.Admission{Room: inbox.Room},
		Log: slog.New(n.laws), Folders: worker.Folders{Pods: filepath.Join(n.dir, "pods")}, Clock: worker.Clock{Order: n.queue, Virtual: late{}},
		Config: criconfig.Node{LogRoot: filepath.Join(n.dir, "logs")}, Options: lifecycle.DefaultOptions(), Timeouts: worker.DefaultTimeouts(),
	}
	engine.Options.HostIPs, engine.Options.KeepRecords = []string{"192.0.2.1"}, true
	c.shell = New(Config{
		Inbox: inbox, Engine: engine, Host: admit.Host{Claims: true}, Sources: []roster.Source{roster.API, roster.File}, Node: func() *v1.Node { return n.node },
		Memory: mortalMemory{MemoryFolder{Dir: filepath.Join(n.dir, "memory")}, c}, Log: engine.Log,
		Cluster: Cluster{Statuses: c, Events: c, Mirrors: c, Objects: c}, Allocator: n.drivers, Pressure: pressed(), Reclaimer: c.reclaimer,
	})
	ctx, cancel := context.WithCancel(context.Background())
	n.kill = func() {
		c.dead.Store(true)
		n.server.node, n.kill = nil, nil
		over := make(chan struct{})
		cancel()
		go func() {
			defer close(over)
			c.shell.Wait()
		}()
		n.queue.drain(over)
	}
	if err := c.shell.Open(ctx); err != nil { // the runtime is away: systemd starts the agent again
		cancel()
		n.kill = nil
		return err
	}
	n.server.node = c
	n.laws.begins()
	c.measures()
	for _, uid := range sortedKeys(n.files) {
		c.hears(roster.Wanted{Source: roster.File, Pod: n.files[uid]})
	}
	c.hears(roster.SourceHeard{Source: roster.File})
	c.lists(stale)
	return nil
}

// killed has the agent die between two things that happen, as by kill -9.
func (n *ledNode) killed() {
	if n.kill != nil {
		n.kill()
	}
}

// reboots starts the machine anew, without an agent.
func (n *ledNode) reboots() error {
	n.killed()
	n.boots()
	err := os.WriteFile(filepath.Join(n.dir, "memory", BootFile), []byte("another"), 0o600)
	if errors.Is(err, os.ErrNotExist) { // no agent has come so far as to write one
		return nil
	}
	return err
}

// file has the folder have a static pod, or no longer.
func (n *ledNode) file(pod *v1.Pod, there bool) {
	if there == (n.files[pod.UID] != nil) {
		return
	}
	if there {
		n.files[pod.UID] = pod
	} else {
		delete(n.files, pod.UID)
	}
	if c := n.server.node; c != nil {
		c.hears(map[bool]roster.Fact{true: roster.Wanted{Source: roster.File, Pod: pod}, false: roster.Unwanted{UID: pod.UID}}[there])
	}
}

// lives leads the node for a while.
func (n *ledNode) lives(d time.Duration) {
	n.queue.lead(time.Now().Add(d), func() bool { return n.laws.hold() == nil })
}

// noVolumes says nothing of volumes that are not a driver's.
type noVolumes struct{ volumes.API }

// mortalMemory is what an agent remembers until it is killed.
type mortalMemory struct {
	MemoryFolder
	of *client
}

var errKilled = errors.New("the agent was killed")

func (m mortalMemory) RecordBoot() error {
	if m.of.dead.Load() {
		return errKilled
	}
	return m.MemoryFolder.RecordBoot()
}

func (m mortalMemory) Pod(as roster.Remembered) Kept { return mortalPod{m.MemoryFolder.Pod(as), m.of} }

func (m mortalMemory) Forget(uid types.UID) error {
	if m.of.dead.Load() {
		return errKilled
	}
	return m.MemoryFolder.Forget(uid)
}

type mortalPod struct {
	Kept
	of *client
}

func (m mortalPod) Keep() error {
	if m.of.dead.Load() {
		return errKilled
	}
	return m.Kept.Keep()
}

func (m mortalPod) Save(c lifecycle.Checkpoint) error {
	if m.of.dead.Load() {
		return errKilled
	}
	return m.Kept.Save(c)
}

// ram is the memory of a node that is short of it at times, whatever its pods do.
type ram struct{ short atomic.Bool }

// The node's memory in all, what it has left, and below which it is short of it.
const (
	capacity = 8 << 30
	enough   = 4 << 30
	little   = 10 << 20
	least    = 100 << 20
)

// pressed is how a node answers.
func pressed() pressure.Config {
	return pressure.Config{
		Thresholds: []pressure.Threshold{{Signal: pressure.Memory, Value: pressure.Value{Quantity: resource.NewQuantity(least, resource.BinarySI)}}},
		Transition: 30 * time.Second,
	}
}

// seen is what is measured now.
func (r *ram) seen() pressure.Observations {
	left := int64(enough)
	if r.short.Load() {
		left = little
	}
	return pressure.Observations{pressure.Memory: {Capacity: capacity, Available: left, At: time.Now()}}
}

// walkReclaimer is an agent's Reclaimer.
type walkReclaimer struct {
	*ram
	inbox *Inbox
}

func (r walkReclaimer) Measure() { r.inbox.NodeMeasured(r.seen(), pressure.Disks{}) }

// Usage knows of no pod's.
func (walkReclaimer) Usage(context.Context, pressure.Signal) (pressure.Usage, error) {
	return pressure.Usage{}, nil
}

func (r walkReclaimer) Reclaim(context.Context, pressure.Reclaims) pressure.Observations {
	return r.seen()
}
func (walkReclaimer) SetConditions([]v1.NodeConditionType) {}
func (walkReclaimer) Event(string, string, string)         {}

// monitor is who measures without being asked.
const monitor types.UID = "monitor"

// measures has the agent told what is measured now.
func (c *client) measures() {
	c.server.queue.Deliver(monitor, c.reclaimer, func() {
		if !c.dead.Load() {
			c.reclaimer.Measure()
		}
	})
}
