package roster

import (
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/lifecycle"
)

// Position is where a pod stands on this node.
//
//	unheard ─▶ waiting ─▶ living ─▶ leaving ─▶ over
//	   │         ▲  │        │         │        │
//	   └▶ looking┘  │        └─ paused ┘        └▶ (gone, once its source has it no longer)
//	        └───────┴─▶ over
type Position int

const (
	// Unheard is a pod that can't begin before a source was heard: its own, or the API
	// after a reboot (A-SYNC-1, B-RST-21).
	Unheard Position = iota
	// Waiting is a pod that waits; its Reason says for what.
	Waiting
	// Looking is a pod that has run before and for which the runtime is being asked.
	Looking
	// Living is a pod that a worker takes through its life.
	Living
	// Leaving is a living pod that was told to stop because its source no longer has it.
	Leaving
	// Paused is a pod whose worker has panicked: it is left alone for a while.
	Paused
	// Over is a pod of which nothing is left. It blocks its UID for as long as its source
	// wants it (B-WRK-16).
	Over
)

// String is the position's name.
func (p Position) String() string {
	return [...]string{"unheard", "waiting", "looking", "living", "leaving", "paused", "over"}[p]
}

// Reason is what a waiting pod waits for.
type Reason string

// What pods wait for.
const (
	ForName    Reason = "another static pod of its name, which has not ended" // B-WRK-19
	ForMirror  Reason = "the API server, which knows its status"              // B-RST-7
	ForNode    Reason = "the Node's labels as the API server has them"        // A-ADM-4
	ForVictims Reason = "the end of pods that are preempted"                  // B-PRE-2
	ForDevices Reason = "what it is given of the node by name"                // A-DEV-5
	ForRoom    Reason = "pods that were removed and have not ended yet"
)

// rule returns the contract's rule by which a pod waits.
func (r Reason) rule() string {
	switch r {
	case ForName:
		return "B-WRK-19"
	case ForMirror:
		return "B-RST-7"
	case ForNode:
		return "A-ADM-4"
	case ForDevices:
		return "A-DEV-5"
	case ForVictims:
		return "B-PRE-2"
	default: // ForRoom
		return "A-ADM-1"
	}
}

// never returns the zero time.
func never() time.Time { return time.Time{} }

// pod is one pod and where it stands.
type pod struct {
	uid      types.UID
	source   Source
	newest   *v1.Pod // as its source has it
	accepted *v1.Pod // as its worker received it; nil: no worker has it yet
	wanted   bool    // its source still has it

	position Position
	reason   Reason    // of Waiting
	until    time.Time // latest end of Waiting or Paused; zero: unknown
	reported Reason    // last reported reason

	orphan     bool          // of a previous agent, and the API had it no longer when it was heard
	left       bool          // told to stop because its source no longer had it
	again      bool          // wanted again while leaving: begins anew once it is over (B-WRK-18)
	remembered *Remembered   // by a previous agent, until the pod's life goes on
	mirror     *v1.PodStatus // status of a static pod's mirror pod; nil: unknown or ignored
	ran        bool          // its status lists containers that the runtime no longer has
	reread     bool          // the Node's labels refused it and were read again
	refused    bool          // rejected by the node; holds no resources
	deleted    bool          // the API server was told that nothing is left of it (B-DEL-11)
	evicted    time.Time     // when it was told to stop to make room; zero: never
	terminated bool          // told to end because the machine shuts down
	rested     bool          // it has given back what it held of the node
	pressed    bool          // it was evicted because the node ran short of something

	assigned bool              // its next life was given what it asks for by name
	given    []v1.ResourceName // of which it was given something
	gaveBack bool              // it has nothing of that any more
	lacks    v1.ResourceName   // others had too much of it, this many of which no source wanted
	freeing  int

	status v1.PodStatus // last published
	resize resize
}

// resize is how far the newest resize of a living pod has come.
type resize struct {
	deferred *v1.Pod // waits for room; may be nil
	granted  *v1.Pod // granted, but not in its status yet; may be nil
}

func (p *pod) name() string { return p.newest.Namespace + "/" + p.newest.Name }

// alive reports whether a worker has the pod.
func (p *pod) alive() bool { return p.position == Living || p.position == Leaving }

// begun reports whether the node may have something of the pod.
func (p *pod) begun() bool {
	switch p.position {
	case Looking, Living, Leaving, Paused:
		return true
	case Waiting:
		return p.reason == ForNode || p.reason == ForDevices // its place is kept
	default: // Unheard, Over
		return false
	}
}

// holds reports whether the pod may hold resources of the node.
func (p *pod) holds() bool { return p.begun() && !p.refused && !p.ended() }

// ended reports whether the pod's phase is terminal. While the runtime is asked for one of which
// nothing is remembered, that of its object counts (B-RST-19), unless a worker of this agent had it.
func (p *pod) ended() bool {
	if p.position == Looking && p.status.Phase == "" && p.accepted == nil {
		return lifecycle.Terminal(p.newest.Status.Phase)
	}
	return lifecycle.Terminal(p.status.Phase)
}

// waits records what a pod waits for and for how long at most; each reason is reported once.
func (m *Machine) waits(p *pod, reason Reason, until time.Time) {
	p.position, p.reason, p.until = Waiting, reason, until
	if p.reported == reason {
		return
	}
	p.reported = reason
	m.report(p, lifecycle.Words{What: "waits for " + string(reason), Rule: reason.rule()})
}
