package roster

import (
	"time"

	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/roster/admit"
)

// Period is how long the pods from a priority on may take to end when the machine shuts
// down (B-SHD-3).
type Period struct {
	Priority     int32
	GraceSeconds int64
}

func (p Period) grace() time.Duration { return time.Duration(p.GraceSeconds) * time.Second }

// reportTime is how long the last statuses may take to reach the API server: pods of the
// last group may need all of its time.
const reportTime = 2 * time.Second

// ShutdownTime is how long the machine's shutdown is held up at most.
func ShutdownTime(periods []Period) time.Duration {
	total := reportTime
	for _, p := range periods {
		total += p.grace()
	}
	return total
}

// What is told of pods that end because the machine shuts down, and of those that don't
// begin (B-SHD-2, B-SHD-5).
const (
	terminatedReason  = "Terminated"
	terminatedMessage = "Pod was terminated in response to imminent node shutdown."
	shutdownReason    = "NodeShutdown"
	shutdownMessage   = "Pod was rejected as the node is shutting down."
)

// shutdownStage is how far a shutdown of the machine has come.
type shutdownStage int

const (
	notShuttingDown shutdownStage = iota
	endingPods                    // group after group
	reporting                     // the API server is being told the last statuses
	released                      // the machine goes down at any moment
)

// shutdown is a shutdown of the machine.
type shutdown struct {
	stage shutdownStage
	group int       // whose pods are to end; those of lower groups were before
	until time.Time // when the group's time is over, or that of the reports
	end   time.Time // when nobody holds the machine up any more
}

// shutdownBegan ends the pods, those of the lowest priority first (B-SHD-4).
func (m *Machine) shutdownBegan() {
	if m.shutdown.stage != notShuttingDown || len(m.options.Shutdown) == 0 {
		return
	}
	m.shutdown = shutdown{stage: endingPods, group: -1, end: m.now.Add(ShutdownTime(m.options.Shutdown))}
	for _, p := range m.pods {
		p.terminated = false
	}
	m.do(AnnounceShutdown{})
	m.do(Report{Words: lifecycle.Words{Subject: "node", What: "ends its pods", Because: "the machine shuts down", Rule: "B-SHD-4"}})
	m.beginAll() // to refuse what waits
}

// shutdownCancelled lets pods begin again, and those go on that were not told to end.
func (m *Machine) shutdownCancelled() {
	if m.shutdown.stage == notShuttingDown {
		return
	}
	m.shutdown = shutdown{}
	m.do(AnnounceShutdown{Cancelled: true})
	m.do(TakeInhibitor{})
	m.do(Report{Words: lifecycle.Words{Subject: "node", What: "runs pods again", Because: "the shutdown was cancelled", Rule: "B-SHD-2"}})
}

// statusesFlushed lets the machine shut down.
func (m *Machine) statusesFlushed() {
	if m.shutdown.stage == reporting {
		m.release("every status is told")
	}
}

// advanceShutdown goes on with a shutdown as far as it can.
func (m *Machine) advanceShutdown() {
	for m.shutdown.stage == endingPods && m.groupIsDone() {
		m.shutdown.group++
		if m.shutdown.group == len(m.options.Shutdown) {
			m.shutdown.stage, m.shutdown.until = reporting, m.shutdown.end
			m.do(FlushStatuses{Until: m.shutdown.end})
			break
		}
		m.endGroup()
	}
	if m.shutdown.stage == reporting && !m.shutdown.until.After(m.now) {
		m.release("the time is over")
	}
}

func (m *Machine) release(because string) {
	m.shutdown.stage, m.shutdown.until = released, never()
	m.do(ReleaseInhibitor{})
	m.do(Report{Words: lifecycle.Words{Subject: "node", What: "no longer holds up the shutdown", Because: because, Rule: "B-SHD-4"}})
}

// groupIsDone reports whether the pods of the group have ended and their volumes are
// unmounted, or its time is over. Before the first group nothing is waited for, and an
// empty one takes no time.
func (m *Machine) groupIsDone() bool {
	if m.shutdown.group < 0 || !m.shutdown.until.After(m.now) {
		return true
	}
	for _, p := range m.pods {
		if m.groupOf(p) == m.shutdown.group && p.keepsGroup() {
			return false
		}
	}
	return true
}

// keepsGroup reports whether something of the pod may run or hold volumes that is to end
// with its group.
func (p *pod) keepsGroup() bool {
	switch p.position {
	case Living, Leaving:
		return p.terminated && !p.rested
	case Looking, Paused:
		return true
	case Waiting:
		return p.reason == ForMirror // it runs
	default: // Unheard, Over
		return false
	}
}

// endGroup tells all pods of the group at the same time to end.
func (m *Machine) endGroup() {
	m.shutdown.until = m.now.Add(m.options.Shutdown[m.shutdown.group].grace())
	for _, p := range m.inOrder(func(p *pod) bool { return m.groupOf(p) == m.shutdown.group }) {
		m.terminate(p)
	}
}

// terminate tells a pod to end because the machine shuts down, if its group's turn has
// come: with its own grace period, at most that of the group (B-SHD-4, B-SHD-5). A pod that
// has ended has nothing to lose.
func (m *Machine) terminate(p *pod) {
	group := m.groupOf(p)
	if m.shutdown.stage == notShuttingDown || group > m.shutdown.group || !p.alive() || p.terminated || p.refused || lifecycle.Terminal(p.status.Phase) {
		return
	}
	grace := m.options.Shutdown[group].GraceSeconds
	if own := p.newest.Spec.TerminationGracePeriodSeconds; own != nil {
		grace = min(grace, *own)
	}
	p.terminated = true
	m.do(Tell{UID: p.uid, Fact: lifecycle.EvictionRequested{
		Reason: terminatedReason, Message: terminatedMessage, Disruption: terminatedMessage, GraceSeconds: &grace, NoEvent: true,
	}})
}

// groupOf returns the group of a pod: the one with the highest priority that does not
// exceed its own, or the lowest (B-SHD-3).
func (m *Machine) groupOf(p *pod) int {
	var priority int32
	if p.newest.Spec.Priority != nil {
		priority = *p.newest.Spec.Priority
	}
	group := 0
	for i, period := range m.options.Shutdown {
		if period.Priority <= priority {
			group = i
		}
	}
	return group
}

// shutdownRefusal rejects new pods while the machine shuts down (B-SHD-2); nil: it doesn't.
func (m *Machine) shutdownRefusal() *admit.Refusal {
	if m.shutdown.stage == notShuttingDown {
		return nil
	}
	return &admit.Refusal{Reason: shutdownReason, Message: shutdownMessage}
}

// endedByShutdown reports whether a static pod was told to end because the machine shut down.
// After that it begins anew, as no controller replaces it (B-SHD-5).
func (r Remembered) endedByShutdown() bool {
	return r.Source.Static() && r.Checkpoint.Stop.Reason == terminatedReason
}
