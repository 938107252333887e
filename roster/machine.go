package roster

import (
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/roster/admit"
	"github.com/lifepod/lifepod/roster/pressure"
)

// Options are fixed for the lifetime of a node's roster.
type Options struct {
	// Sources lists all sources. No pod is ended before each was heard (B-RST-3).
	Sources []Source
	// Host is what the machine can enforce.
	Host admit.Host
	// API: there is an API server, which shows static pods and can be asked for the
	// Node.
	API bool
	// Shutdown says how long pods may take to end when the machine shuts down, the lowest
	// priority first; empty: they are not ended.
	Shutdown []Period
	// Pressure is how the node answers when it runs short of something.
	Pressure pressure.Config
	// Allocates says whether a pod asks for something that is given by name (A-DEV-5); nil: none
	// does.
	Allocates func(*v1.Pod) bool
	// Fixed is what a resize can't change (A-ACT-15).
	Fixed Fixed
}

// Fixed is what a resize can't change.
type Fixed = admit.Fixed

// Machine is the roster of a node: all its pods and where each stands. It is not safe
// for use by several goroutines at once.
type Machine struct {
	options Options

	now    time.Time
	opened bool
	heard  map[Source]bool
	node   *v1.Node // nil: not known yet
	pods   map[types.UID]*pod
	books  books               // what follows from all of them
	found  map[types.UID]Found // in the runtime at the start, and not taken over by a pod yet

	// awaitsAPI is when running static pods stop waiting for the API; zero: they don't
	// wait.
	awaitsAPI time.Time
	// rebooted: remembered pods of the API wait until the API is heard. It holds until
	// RecordBoot.
	rebooted bool
	shutdown shutdown

	short    shortage // what the node runs short of
	eviction eviction // how far it has come in getting that back

	wakeAt  time.Time // last requested
	effects []Effect  // of the step
}

// New returns the roster of a node before its first fact.
func New(options Options) *Machine {
	return &Machine{
		options: options, heard: map[Source]bool{}, pods: map[types.UID]*pod{}, books: newBooks(), found: map[types.UID]Found{},
	}
}

// Step takes one fact and returns the effects that follow from it, in order. Time never
// goes back.
func (m *Machine) Step(e Event) []Effect {
	m.now, m.effects = e.At, nil
	m.books.changed = m.books.changed[:0]
	e.Fact.apply(m)
	m.releaseDone()
	m.advanceShutdown()
	m.recordBoot()
	m.wake()
	return m.effects
}

func (m *Machine) ofPod(uid types.UID, file func(*pod)) {
	if p := m.pods[uid]; p != nil {
		with(m, p, file)
	}
}

func (m *Machine) do(e Effect) { m.effects = append(m.effects, e) }

// report tells of a pod.
func (m *Machine) report(p *pod, w lifecycle.Words) {
	w.Subject = "pod " + p.name()
	m.do(Report{Words: w, Source: p.source})
}

// warn tells of a pod that is in trouble.
func (m *Machine) warn(p *pod, w lifecycle.Words) {
	w.Subject = "pod " + p.name()
	m.do(Report{Words: w, Source: p.source, Warning: true})
}

// inOrder returns the pods for which want holds, in the order of their creation, in which
// they begin (A-SYNC-1). It looks at all of them.
func (m *Machine) inOrder(want func(*pod) bool) []*pod {
	var list []*pod
	for _, p := range m.books.order {
		if want(p) {
			list = append(list, p)
		}
	}
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
	sooner(m.shutdown.until)
	sooner(m.short.until)
	if m.eviction.stage != evictionIdle {
		sooner(m.eviction.until)
	}
	settle(m)
	for _, until := range m.books.until {
		sooner(until)
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
	m.pressureWoke(over)
	for _, p := range m.inOrder(func(p *pod) bool { return over(p.until) }) {
		with(m, p, func(p *pod) { p.until = time.Time{} })
		if p.position == Paused {
			m.do(Recall{UID: p.uid})
		}
	}
	m.beginAll()
}
