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
	// after the machine has started anew (A-SYNC-1, B-RST-11).
	Unheard Position = iota
	// Waiting is a pod that waits for something that its reason names.
	Waiting
	// Looking is a pod that has run before: what the runtime has of it is being looked at.
	Looking
	// Living is a pod that a worker takes through its life.
	Living
	// Leaving is a living pod whose end was asked for, because its source has it no longer.
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
	ForRoom    Reason = "pods that were removed and have not ended yet"
)

// rule is that of the contract by which a pod waits.
func (r Reason) rule() string {
	switch r {
	case ForName:
		return "B-WRK-19"
	case ForMirror:
		return "B-RST-7"
	case ForNode:
		return "A-ADM-4"
	case ForVictims:
		return "B-PRE-2"
	default: // ForRoom
		return "A-ADM-1"
	}
}

// never is no time.
func never() time.Time { return time.Time{} }

// pod is one pod and where it stands.
type pod struct {
	uid      types.UID
	source   Source
	newest   *v1.Pod // as its source has it
	accepted *v1.Pod // as its worker was given it; nil: none has it yet
	wanted   bool    // its source has it

	position Position
	reason   Reason    // of Waiting
	until    time.Time // when Waiting or Paused ends at the latest; zero: nobody knows
	told     Reason    // the reason that was reported last

	left       bool          // its end was asked for because its source had it no longer
	again      bool          // it was wanted again while it was leaving: it begins anew when it is over (B-WRK-18)
	remembered *Remembered   // by an agent before this one, until its life goes on
	mirror     *v1.PodStatus // of a static pod that was looked at: that of its mirror pod; nil: none counts
	ran        bool          // its status tells of containers, of which the runtime has nothing
	reread     bool          // the Node's labels have refused it and were read anew
	refused    bool          // the node rejects it: it holds nothing
	deleted    bool          // the API server was told that nothing is left of it (B-DEL-11)
	evicted    time.Time     // when its end was asked for to make room; zero: it was not

	status v1.PodStatus // as published last
	resize resize
}

// resize is how far the newest resize of a living pod has come.
type resize struct {
	deferred *v1.Pod // with resources for which there was no room; may be nil
	granted  *v1.Pod // with resources that it may have and that its status does not tell of yet; may be nil
}

func (p *pod) name() string { return p.newest.Namespace + "/" + p.newest.Name }

// alive says that a worker has the pod.
func (p *pod) alive() bool { return p.position == Living || p.position == Leaving }

// begun says that something of the pod may be on the node.
func (p *pod) begun() bool {
	switch p.position {
	case Looking, Living, Leaving, Paused:
		return true
	case Waiting:
		return p.reason == ForNode // its place is kept
	default: // Unheard, Over
		return false
	}
}

// holds says that the pod may hold something of the node.
func (p *pod) holds() bool { return p.begun() && !p.refused && !lifecycle.Terminal(p.status.Phase) }

// waits files what a pod waits for, and until when at the latest; it is reported once.
func (m *Machine) waits(p *pod, reason Reason, until time.Time) {
	p.position, p.reason, p.until = Waiting, reason, until
	if p.told == reason {
		return
	}
	p.told = reason
	m.report(p, lifecycle.Report{What: "waits for " + string(reason), Rule: reason.rule()})
}
