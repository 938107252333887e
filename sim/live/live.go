package live

import (
	"fmt"
	"hash/fnv"
	"sync"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/sim"
	"github.com/lifepod/lifepod/sim/scenario"
	"github.com/lifepod/lifepod/sim/scenario/file"
	"github.com/lifepod/lifepod/worker"
)

// Pods are those of all nodes of a process.
type Pods struct {
	Scenarios *file.Scenarios
	Seed      uint64 // of everything that is drawn by chance
	// Output takes a line that a container writes; nil: it is dropped. It may be called from many
	// goroutines.
	Output func(pod *v1.Pod, container, stream, text string)
	// Time is what the pods live by; nil: real time.
	Time VirtualTime

	// Logs keeps what containers write, for who asks for it.
	Logs Logs

	addresses atomic.Uint32 // given to pods
	running   sync.Map      // *simulated by types.UID, of those that have not ended
}

// Usage is what the containers of a pod use; nothing if no node has begun with it.
func (s *Pods) Usage(uid types.UID) (list []sim.Used) {
	if p, is := s.running.Load(uid); is {
		p.(*simulated).do(func(now time.Time) { list = p.(*simulated).pod.Usage(now) })
	}
	return list
}

// Check finds what a scenario says that no pod of a simulated node has a part in.
func Check(s *scenario.Scenario, report scenario.Report) { sim.CheckPod(s, report) }

// Check refuses such scenarios, for those that were not read from a file.
func (s *Pods) Check() error {
	for _, named := range s.Scenarios.All() {
		if err := scenario.Errors(named.Scenario, Check); err != nil {
			return fmt.Errorf("%s: %w", named.From, err)
		}
	}
	return nil
}

// address is the next pod's, of 10.0.0.0/8.
func (s *Pods) address() string {
	n := s.addresses.Add(1) % (1 << 24)
	return fmt.Sprintf("10.%d.%d.%d", n>>16, n>>8&0xff, n&0xff)
}

// simulated is one pod: its timer says when something happens next.
type simulated struct {
	of  *Pods
	uid types.UID
	now func() time.Time

	mu    sync.Mutex
	pod   *sim.Pod
	timer worker.Timer
	ended bool
}

func (s *Pods) time() worker.Virtual { return worker.Clock{Virtual: s.Time}.Time() }

// Simulate makes what carries a pod's effects out; it is for worker.Engine.
func (s *Pods) Simulate(pod *v1.Pod, post func(lifecycle.Fact)) worker.Simulated {
	return s.begin(pod, post, 0)
}

// begin is Simulate on a node whose runtime takes so many times as long; 0: as long as usual.
func (s *Pods) begin(pod *v1.Pod, post func(lifecycle.Fact), slow float64) *simulated {
	says, err := s.Scenarios.Of(pod.Namespace, pod.Name, pod.Annotations)
	if err != nil { // the pod says so, and waits
		says = &scenario.Scenario{Calls: []scenario.Call{{Call: "CreateSandbox", Fail: err.Error()}}}
	}
	name := fnv.New64a()
	_, _ = name.Write([]byte(pod.Namespace + "/" + pod.Name)) // it never fails
	o := sim.PodOptions{Scenario: says, Seed: s.Seed ^ name.Sum64(), Began: s.time().Now(), Tell: post, Address: s.address, Slow: slow}
	o.Output = func(container string, instance int, stream, text string) {
		s.Logs.Write(pod.UID, Written{Container: container, Instance: instance, Stream: stream, Text: text, At: time.Now()})
		if s.Output != nil {
			s.Output(pod, container, stream, text)
		}
	}
	return s.begun(pod.UID, sim.NewPod(pod, o))
}

func (s *Pods) begun(uid types.UID, pod *sim.Pod) *simulated {
	p := &simulated{of: s, uid: uid, now: s.time().Now, pod: pod}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.timer = s.time().AfterFunc(0, func() { p.do(p.pod.Happen) }) // events may be due
	s.running.Store(uid, p)
	return p
}

func (p *simulated) Begin(e lifecycle.Effect) { p.do(func(now time.Time) { p.pod.Begin(now, e) }) }

// Cancel gives an effect up if that is possible.
func (p *simulated) Cancel(id lifecycle.EffectID) {
	p.do(func(now time.Time) { p.pod.Cancel(now, id) })
}

// End ends it: nothing happens any more.
func (p *simulated) End() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over()
}

// over ends it, with mu held.
func (p *simulated) over() {
	p.ended = true
	p.timer.Stop()
	p.of.running.CompareAndDelete(p.uid, p)
}

// do does something now, and has the timer come when the next thing happens.
func (p *simulated) do(what func(now time.Time)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return
	}
	now := p.now()
	what(now)
	if next, will := p.pod.Next(); will {
		p.timer.Reset(next.Sub(now))
	}
}
