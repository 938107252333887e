package roster

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/roster/pressure"
)

const (
	// victimPatience limits how long the node waits for the end of an evicted pod before it
	// looks for another one (B-EVI-3, B-EVI-12).
	victimPatience = 30 * time.Second
	// settleTime is for what a pod whose containers have ended gives back afterwards, such
	// as its volumes in memory. Where a disk is short it has victimPatience: much takes long
	// to remove.
	settleTime = time.Second
	// reclaimPatience limits how long the node waits until something was reclaimed, or its
	// pods were measured: the runtime may hang.
	reclaimPatience = 3 * time.Minute
	// reclaimPause is how long nothing is reclaimed after nothing was found that could be, as
	// in Kubernetes.
	reclaimPause = 10 * time.Second
)

// shortage is what the node runs short of.
type shortage struct {
	state      pressure.State
	disks      pressure.Disks         // as last measured
	conditions []v1.NodeConditionType // as last reported; replaced, never changed
	until      time.Time              // when time alone changes them or makes a threshold act; zero: never
}

// eviction is how far the node has come in getting back what it runs short of. One thing is
// done at a time:
//
//	idle ─▶ reclaiming ─▶ ranking ─▶ evicting ─▶ settling ─▶ idle
//	  └────────────────────▲  └─▶ idle, if no pod can go
type eviction struct {
	stage  evictionStage
	acts   []pressure.Threshold // what demands it, the most urgent one first
	seen   pressure.Observations
	victim types.UID // of evicting and settling
	until  time.Time // latest end of a stage; of idle: of a pause; zero: none
}

type evictionStage int

const (
	evictionIdle evictionStage = iota
	evictionReclaiming
	evictionRanking
	evictionEvicting
	evictionSettling
)

// nodeMeasured looks at what was measured of the node, and begins to reclaim if a
// threshold demands it (B-EVI-4).
func (m *Machine) nodeMeasured(f NodeMeasured) {
	m.short.disks = f.Disks
	verdict := m.short.state.Look(&m.options.Pressure, m.now, f.Seen, f.Disks)
	m.short.until = verdict.Again
	m.setConditions(verdict.Conditions)
	if len(verdict.Acts) == 0 || m.eviction.stage != evictionIdle || m.now.Before(m.eviction.until) {
		return
	}
	m.eviction = eviction{acts: verdict.Acts, seen: f.Seen}
	urgent := verdict.Acts[0]
	m.tellNode("must reclaim "+string(urgent.Signal.Resource()), "", urgent.Describe(f.Seen), "B-EVI-4")
	m.do(NodeEvent{Type: v1.EventTypeWarning, Reason: "EvictionThresholdMet", Message: "Attempting to reclaim " + string(urgent.Signal.Resource())})
	if what := pressure.ReclaimsFor(urgent.Signal, f.Disks); what.Any() {
		m.eviction.stage, m.eviction.until = evictionReclaiming, m.now.Add(reclaimPatience)
		m.do(Reclaim{Reclaims: what})
		return
	}
	m.rank()
}

// setConditions tells of the Node's conditions when they have changed, most of all those
// who are admitted next.
func (m *Machine) setConditions(conditions []v1.NodeConditionType) {
	if slices.Equal(conditions, m.short.conditions) {
		return
	}
	m.short.conditions = conditions
	m.do(SetConditions{Conditions: conditions})
}

// reclaimed goes on to pods if what was reclaimed isn't enough for all thresholds (B-EVI-6).
func (m *Machine) reclaimed(f Reclaimed) {
	if m.eviction.stage != evictionReclaiming {
		return
	}
	if len(f.Seen) > 0 && m.short.state.Enough(f.Seen) {
		m.tellNode("needs to evict no pod", "", "what was reclaimed is enough", "B-EVI-6")
		m.eviction = eviction{}
		return
	}
	m.rank()
}

func (m *Machine) rank() {
	m.eviction.stage, m.eviction.until = evictionRanking, m.now.Add(reclaimPatience)
	m.do(MeasurePods{Signal: m.eviction.acts[0].Signal})
}

// podsMeasured evicts the first pod in the order of eviction that can go (B-EVI-7).
func (m *Machine) podsMeasured(f PodsMeasured) {
	if m.eviction.stage != evictionRanking {
		return
	}
	urgent := m.eviction.acts[0]
	if f.Failed {
		m.tellNode("evicts no pod", "it looks again in "+reclaimPause.String(), "what pods use could not be measured", "B-EVI-7")
		m.eviction = eviction{until: m.now.Add(reclaimPause)}
		return
	}
	var ranked []*v1.Pod
	for _, p := range m.inOrder((*pod).canGo) {
		ranked = append(ranked, p.allocated())
	}
	pressure.Rank(ranked, f.Used, urgent.Signal, m.short.disks)
	if len(ranked) == 0 {
		m.tellNode("finds no pod that it can evict", "it looks again in "+reclaimPause.String(), urgent.Describe(m.eviction.seen), "B-EVI-7")
		m.eviction = eviction{until: m.now.Add(reclaimPause)}
		return
	}
	victim := m.pods[ranked[0].UID]
	e := m.options.Pressure.Evict(ranked[0], f.Used[victim.uid], m.eviction.acts, m.eviction.seen)
	m.eviction.stage, m.eviction.victim = evictionEvicting, victim.uid
	m.eviction.until = m.now.Add(max(victimPatience, 3*lifecycle.GraceDuration(e.GraceSeconds)/2))
	victim.evicted, victim.pressed = m.now, true
	m.warn(victim, lifecycle.Words{
		What: "is evicted", Outcome: "it is first of " + counted(len(ranked)) + " that may go",
		Because: urgent.Describe(m.eviction.seen) + ", and " + pressure.Why(ranked[0], f.Used[victim.uid], urgent.Signal, m.short.disks), Rule: "B-EVI-7",
	})
	m.do(Evicted{Signals: signalsOf(m.eviction.acts), Seen: m.eviction.seen})
	m.do(Tell{UID: victim.uid, Fact: lifecycle.EvictionRequested{
		Reason: pressure.Reason, Message: e.Message, Disruption: e.Message, GraceSeconds: &e.GraceSeconds, Blame: e.Blame,
	}})
}

func signalsOf(acts []pressure.Threshold) []pressure.Signal {
	list := make([]pressure.Signal, 0, len(acts))
	for i := range acts {
		list = append(list, acts[i].Signal)
	}
	return list
}

// canGo says whether evicting a pod may give back something: it has a worker that can be
// told, holds something, is not on its way already for the same reason, and not critical.
func (p *pod) canGo() bool {
	return p.alive() && p.holds() && !p.pressed && !lifecycle.Critical(p.newest)
}

// victimStopped gives an evicted pod, of which nothing runs any more, a moment to give
// back the rest, of which Rested tells: another pod would have to go for what comes back
// anyway.
func (m *Machine) victimStopped(p *pod) {
	if m.eviction.stage == evictionEvicting && m.eviction.victim == p.uid {
		settles := settleTime
		if m.eviction.acts[0].Signal.Condition() == v1.NodeDiskPressure {
			settles = victimPatience
		}
		m.eviction.stage, m.eviction.until = evictionSettling, m.now.Add(settles)
	}
}

// victimGone ends the wait for an evicted pod, which has given all back, and has the node
// looked at again at once (B-EVI-3).
func (m *Machine) victimGone(p *pod) {
	if m.eviction.stage < evictionEvicting || m.eviction.victim != p.uid {
		return
	}
	m.eviction = eviction{}
	m.do(Measure{})
}

// pressureWoke does what time alone brings: the end of a condition, of a soft threshold's
// grace, of the wait for a victim.
func (m *Machine) pressureWoke(over func(time.Time) bool) {
	if m.eviction.stage != evictionIdle && over(m.eviction.until) {
		if m.eviction.stage < evictionEvicting {
			m.tellNode("waits no longer for what it can reclaim", "it looks again", "the runtime has not answered in "+reclaimPatience.String(), "B-EVI-6")
		} else if m.eviction.stage == evictionEvicting {
			m.tellNode("waits no longer for an evicted pod", "", "it has not ended in its time", "B-EVI-12")
		}
		m.eviction = eviction{}
		m.do(Measure{})
	}
	if over(m.short.until) {
		verdict := m.short.state.Conditions(&m.options.Pressure, m.now)
		m.short.until = verdict.Again
		m.setConditions(verdict.Conditions)
		m.do(Measure{})
	}
}

// tellNode tells of the node as a whole.
func (m *Machine) tellNode(what, outcome, because, rule string) {
	m.do(Report{Words: lifecycle.Words{Subject: "node", What: what, Outcome: outcome, Because: because, Rule: rule}, Warning: true})
}
