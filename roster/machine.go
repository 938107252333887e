package roster

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/worker/admission"
)

// Options are what a node's roster is told once.
type Options struct {
	// Sources are those that there are. Nothing is ended before each was heard (B-RST-3).
	Sources []Source
	// Host is what the machine can enforce.
	Host admission.Host
	// API says that there is an API server: it shows static pods, and can be asked for
	// the Node.
	API bool
}

// Machine is the roster of a node: all its pods and where each stands. It is not safe
// for use by several goroutines at once.
type Machine struct {
	options Options

	now    time.Time
	opened bool
	heard  map[Source]bool
	node   *v1.Node // nil: not known yet
	pods   map[types.UID]*pod
	found  map[types.UID]Found // what the runtime had at the start and no pod has taken over

	// awaitsAPI is when static pods that run already stop waiting for the API; zero: they
	// don't wait.
	awaitsAPI time.Time
	// rebooted says that remembered pods of the API wait for it to be heard.
	rebooted bool

	wakeAt  time.Time // as asked for last
	effects []Effect  // of the step
}

// New is the roster of a node before its first fact.
func New(options Options) *Machine {
	return &Machine{options: options, heard: map[Source]bool{}, pods: map[types.UID]*pod{}, found: map[types.UID]Found{}}
}

// Step files one fact and returns what is to be done because of it, in order. Time
// never goes back.
func (m *Machine) Step(e Event) []Effect {
	m.now, m.effects = e.At, nil
	m.apply(e.Fact)
	m.wake()
	return m.effects
}

func (m *Machine) apply(fact Fact) {
	switch f := fact.(type) {
	case Opened:
		m.open(f)
	case Wanted:
		m.wanted(f)
	case Unwanted:
		m.unwanted(f.UID)
	case SourceHeard:
		m.sourceHeard(f.Source)
	case NodeKnown:
		m.node = f.Node
	case Woke:
		m.woke()
	case ResizeAsked:
		m.do(AnswerResize{ID: f.ID, Refusal: m.room(f.Pod)})
	default:
		m.applyToPod(fact)
	}
}

// applyToPod files what concerns one pod; one that is not known any more has no
// use for it.
func (m *Machine) applyToPod(fact Fact) {
	switch f := fact.(type) {
	case NodeRead:
		m.ofPod(f.UID, func(p *pod) { m.nodeRead(p, f.Node) })
	case Looked:
		m.ofPod(f.UID, func(p *pod) { m.looked(p, f) })
	case Resumed:
		m.ofPod(f.UID, func(p *pod) { m.resumed(p, f.Status) })
	case NotResumed:
		m.ofPod(f.UID, func(p *pod) { m.notResumed(p, f.Err) })
	case Recalled:
		m.ofPod(f.UID, func(p *pod) { m.recalled(p, f.Remembered) })
	case Published:
		m.ofPod(f.UID, func(p *pod) { m.published(p, f.Status) })
	case NothingLeft:
		m.ofPod(f.UID, m.deleteObject)
	case Ended:
		m.ofPod(f.UID, m.ended)
	case Panicked:
		m.ofPod(f.UID, func(p *pod) { m.panicked(p, f.Err) })
	case ObjectsChanged:
		m.ofPod(f.UID, func(p *pod) { m.objectsChanged(p, f.Because) })
	default:
		panic(fmt.Sprintf("roster: no way to file %T", fact))
	}
}

func (m *Machine) ofPod(uid types.UID, file func(*pod)) {
	if p := m.pods[uid]; p != nil {
		file(p)
	}
}

func (m *Machine) do(e Effect) { m.effects = append(m.effects, e) }

// report tells of a pod.
func (m *Machine) report(p *pod, r lifecycle.Report) {
	r.Subject = "pod " + p.name()
	m.do(Report{Report: r, Source: p.source})
}

// warn tells of a pod that is in trouble.
func (m *Machine) warn(p *pod, r lifecycle.Report) {
	r.Subject = "pod " + p.name()
	m.do(Report{Report: r, Source: p.source, Warning: true})
}

// inOrder are the pods for which want holds, in the order in which they begin: that of
// their creation (A-SYNC-1).
func (m *Machine) inOrder(want func(*pod) bool) []*pod {
	var list []*pod
	for _, p := range m.pods {
		if want(p) {
			list = append(list, p)
		}
	}
	slices.SortFunc(list, func(a, b *pod) int {
		return cmp.Or(
			a.newest.CreationTimestamp.Compare(b.newest.CreationTimestamp.Time),
			cmp.Compare(a.newest.Name, b.newest.Name), cmp.Compare(a.uid, b.uid),
		)
	})
	return list
}

// wake asks to be woken when the next wait is over.
func (m *Machine) wake() {
	var at time.Time
	sooner := func(t time.Time) {
		if !t.IsZero() && (at.IsZero() || t.Before(at)) {
			at = t
		}
	}
	sooner(m.awaitsAPI)
	for _, p := range m.pods {
		sooner(p.until)
	}
	if !at.Equal(m.wakeAt) {
		m.wakeAt = at
		m.do(WakeAt{At: at})
	}
}

// woke ends the waits whose time has come.
func (m *Machine) woke() {
	over := func(t time.Time) bool { return !t.IsZero() && !t.After(m.now) }
	if over(m.awaitsAPI) {
		m.awaitsAPI = time.Time{}
	}
	for _, p := range m.inOrder(func(p *pod) bool { return over(p.until) }) {
		p.until = time.Time{}
		if p.position == Paused {
			m.do(Recall{UID: p.uid})
		}
	}
	m.beginAll()
}

// Clone is a copy that steps on by itself.
func (m *Machine) Clone() *Machine {
	c := *m
	c.heard, c.found, c.effects = maps.Clone(m.heard), maps.Clone(m.found), nil
	c.pods = make(map[types.UID]*pod, len(m.pods))
	for uid, p := range m.pods {
		copied := *p
		c.pods[uid] = &copied
	}
	return &c
}
