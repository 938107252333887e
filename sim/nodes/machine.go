package nodes

import (
	"context"
	"fmt"
	"net/http"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/node/groups"
	"github.com/lifepod/lifepod/node/groups/transport"
	"github.com/lifepod/lifepod/pods"
	"github.com/lifepod/lifepod/sim/live"
	"github.com/lifepod/lifepod/sim/nodes/nodefaults"
	"github.com/lifepod/lifepod/worker"
)

// Shared is what the machines of a process share.
type Shared struct {
	Config *rest.Config // of Client
	Client kubernetes.Interface
	Pods   *live.Pods

	jobSets jobSets           // of all
	ways    transport.Process // between them
}

// Machine is that of one node, for as long as its process runs, also across reboots.
type Machine struct {
	Name     string
	Client   kubernetes.Interface
	Simulate func(*v1.Pod, func(lifecycle.Fact)) worker.Simulated // for worker.Engine
	Memory   pods.Memory                                          // nil: it is never rebooted
	Events   []nodefaults.Happening                               // what will happen to it

	jobSets jobSets
	ways    *transport.Process // to the others
	kept    *groups.Kept
	parts   *parts // nil: nothing will
}

// parts are what something can happen to. Machines that nothing happens to share the client and the JobSets of all.
type parts struct {
	link    *Link
	gate    *gate
	runtime *live.Machine
	disk    *disk // nil: it is never rebooted
}

func (s *Shared) New(name string, f nodefaults.Faults) (*Machine, error) {
	m := &Machine{Name: name, Client: s.Client, Simulate: s.Pods.Simulate, Events: f.Events, jobSets: s.jobSets, ways: &s.ways, kept: groups.NewKept("")}
	if f.Slow == 0 && f.Events == nil {
		return m, nil
	}
	runtime := &live.Machine{Pods: s.Pods, Slow: f.Slow}
	m.Simulate = runtime.Simulate
	if f.Events == nil {
		return m, nil
	}
	transport, err := rest.TransportFor(s.Config) // the same connections as those of all
	if err != nil {
		return nil, fmt.Errorf("connections of node %s: %w", name, err)
	}
	m.parts = &parts{link: NewLink(transport), gate: newGate(s.jobSets), runtime: runtime}
	m.jobSets = m.parts.gate
	if m.Client, err = kubernetes.NewForConfigAndClient(s.Config, &http.Client{Transport: m.parts.link}); err != nil {
		return nil, fmt.Errorf("client of node %s: %w", name, err)
	}
	if f.Reboots() {
		m.parts.disk = &disk{}
		m.Memory = m.parts.disk
	}
	return m, nil
}

// FreshNode is the Node as the API server has it now.
func (m *Machine) FreshNode(ctx context.Context) (*v1.Node, error) {
	return m.Client.CoreV1().Nodes().Get(ctx, m.Name, metav1.GetOptions{})
}

// Cut cuts its way to the API server and to other nodes, and lets its pods hear nothing of their JobSets. Only a machine that something
// happens to can be cut off, or lose its power.
func (m *Machine) Cut() {
	m.parts.link.Cut()
	m.ways.Cut(m.Name)
	m.parts.gate.Shut()
}

// Mend gives the ways back.
func (m *Machine) Mend() {
	m.parts.link.Mend()
	m.ways.Mend(m.Name)
}

// Hear tells its pods what they have missed of their JobSets since Cut.
func (m *Machine) Hear() { m.parts.gate.Open() }

// PowerOff ends all that runs at once, and cuts its ways: nobody is told.
func (m *Machine) PowerOff() {
	m.parts.link.Cut()
	m.ways.Cut(m.Name)
	m.parts.runtime.PowerOff()
}

// PowerOn starts it anew. What was on its disk is there.
func (m *Machine) PowerOn() {
	m.parts.disk.Reboot()
	m.parts.runtime.PowerOn()
	m.Mend()
}
