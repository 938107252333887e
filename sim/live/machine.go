package live

import (
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/worker"
)

// Machine is the container runtime of one node, which may be slow, and whose power may go off.
type Machine struct {
	Pods *Pods
	Slow float64 // calls take so many times as long; 0: as long as usual

	mu   sync.Mutex
	off  bool
	pods map[types.UID]*simulated // of which it has something
}

// Simulate is that of Pods. A pod that was there when the power went off has what the disk has kept of it.
func (m *Machine) Simulate(pod *v1.Pod, post func(lifecycle.Fact)) worker.Simulated {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.off {
		return dead{}
	}
	p, before := m.pods[pod.UID], false
	if p != nil {
		p, before = m.Pods.after(p, post)
	}
	if !before {
		p = m.Pods.begin(pod, post, m.Slow)
	}
	if m.pods == nil {
		m.pods = map[types.UID]*simulated{}
	}
	m.pods[pod.UID] = p
	return &onMachine{p, m, pod.UID}
}

// PowerOff ends all that runs, and nobody learns of it. The workers have to be ended, too.
func (m *Machine) PowerOff() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.off = true
	for _, p := range m.pods {
		p.powerOff()
	}
}

// PowerOn lets other workers go on with the pods.
func (m *Machine) PowerOn() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.off = false
}

type onMachine struct {
	*simulated
	on  *Machine
	uid types.UID
}

// End ends it. While the power is off the disk keeps what there is of the pod.
func (p *onMachine) End() {
	p.on.mu.Lock()
	defer p.on.mu.Unlock()
	if p.on.off {
		return
	}
	p.simulated.End()
	if p.on.pods[p.uid] == p.simulated {
		delete(p.on.pods, p.uid)
	}
}

func (p *simulated) powerOff() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return
	}
	p.over()
	p.pod.PowerOff(p.now())
}

// after is the pod with another worker, after the power was off; false: it was not.
func (s *Pods) after(p *simulated, post func(lifecycle.Fact)) (*simulated, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.ended {
		return nil, false
	}
	p.pod.PowerOn(p.now(), post)
	return s.begun(p.uid, p.pod), true
}

// dead is a pod of a machine without power.
type dead struct{}

// Begin does nothing.
func (dead) Begin(lifecycle.Effect) {}

// Cancel does nothing.
func (dead) Cancel(lifecycle.EffectID) {}

// End does nothing.
func (dead) End() {}
