package nodes

import (
	"fmt"
	"net/http"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/pods"
	"github.com/lifepod/lifepod/pods/memory"
	"github.com/lifepod/lifepod/sim/live"
	"github.com/lifepod/lifepod/sim/nodes/fate"
	"github.com/lifepod/lifepod/sim/nodes/link"
	"github.com/lifepod/lifepod/worker"
)

// machine is what a node has for as long as its process runs, also across reboots.
type machine struct {
	set    *set
	number int
	name   string

	client   kubernetes.Interface
	groups   pods.Groups
	simulate func(*v1.Pod, func(lifecycle.Fact)) worker.Simulated
	memory   pods.Memory // nil: it is never rebooted

	parts *parts // nil: nothing happens to it
}

// parts are what something can happen to. Machines that nothing happens to share the client and the groups of all.
type parts struct {
	events  []fate.Happening
	link    *link.Link
	gate    *gate
	runtime *live.Machine
	disk    *memory.Volatile
}

// newMachine is the machine of a node, by its fate.
func (s *set) newMachine(i int) (*machine, error) {
	m := &machine{set: s, number: i, name: s.names[i], client: s.client, groups: s.shared.groups, simulate: s.Pods.Simulate}
	f := s.fates[i]
	if f.Slow == 0 && f.Events == nil {
		return m, nil
	}
	runtime := &live.Machine{Pods: s.Pods, Slow: f.Slow}
	m.simulate = runtime.Simulate
	if f.Events == nil {
		return m, nil
	}
	transport, err := rest.TransportFor(s.config) // the same connections as those of all
	if err != nil {
		return nil, fmt.Errorf("connections of node %s: %w", m.name, err)
	}
	m.parts = &parts{events: f.Events, link: link.New(transport), gate: newGate(s.shared.groups), runtime: runtime}
	m.groups = m.parts.gate
	if m.client, err = kubernetes.NewForConfigAndClient(s.config, &http.Client{Transport: m.parts.link}); err != nil {
		return nil, fmt.Errorf("client of node %s: %w", m.name, err)
	}
	if f.Reboots() {
		m.parts.disk = &memory.Volatile{}
		m.memory = m.parts.disk
	}
	return m, nil
}
