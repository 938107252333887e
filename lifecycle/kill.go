package lifecycle

import (
	"slices"
	"time"
)

// kill says that one container must end while its pod goes on, and what follows. It is
// decided once, when it is asked for (A-RST-4).
type kill struct {
	Message   string    `json:"message,omitzero"` // of the Killing event
	Decided   time.Time `json:"decided,omitzero"`
	Deadline  time.Time `json:"deadline,omitzero"`  // preStop hook and signal share it
	Force     bool      `json:"force,omitzero"`     // at once: no hook, no signal
	Uncounted bool      `json:"uncounted,omitzero"` // lifepod's own decision: the restart does not count towards a limit
	Requested bool      `json:"requested,omitzero"` // somebody asked: the restart does not count for the back-off
	Verdict   *verdict  `json:"verdict,omitempty"`  // what follows; nil: the exit decides
	Failure   *Failure  `json:"failure,omitempty"`  // shown as the waiting reason afterwards; may be nil
	report    Report    // why; reported when decided, so not kept
}

// killContainer asks for the end of one running container. A second reason can only bring
// the deadline nearer, except that a requested restart also decides what follows.
func killContainer(s *step, c *container, k kill) {
	if s.kept.Stage != Syncing || c.Position != running {
		return
	}
	if c.Kill != nil {
		if k.Requested && !c.Kill.Requested && !s.restartAll.Active {
			wanted := *c.Kill
			wanted.Requested, wanted.Verdict, wanted.Failure = true, k.Verdict, nil
			c.Kill = &wanted
			k.report.Subject = c.spec.Name
			tell(s, k.report)
		}
		if k.Force && !c.Kill.Force || k.Deadline.Before(c.Kill.Deadline) {
			sooner := *c.Kill
			sooner.Deadline, sooner.Force = earlier(k.Deadline, sooner.Deadline), sooner.Force || k.Force
			c.Kill = &sooner
		}
		return
	}
	k.Decided = s.now
	c.Kill = &k
	if k.report.Kind != "" { // else it is obvious
		k.report.Subject = c.spec.Name
		tell(s, k.report)
	}
}

// planKills stops the containers that must end on their own, in parallel to each other
// and to everything else the pod does (A-ACT-9, B-PRB-4).
func planKills(s *step) {
	if s.restartAll.Active {
		return // a restart of all containers has its own order
	}
	for _, c := range s.containers {
		if c.Kill != nil && s.sandbox.State == sandboxReady {
			stopOne(s, c, true)
		}
	}
}

// stopping is how far the end of an instance has come: its preStop hook, then
//
//	to be called ──▶ called ──▶ returned ──▶ doubted ──▶ to be called again
//	     ▲             │ failed     │            │
//	     └─────────────┘            └────────────┴──▶ exited, which ends all this
type stopping struct {
	preStop  hookRun
	position stopPosition
	op       EffectID  // StopContainer
	deadline time.Time // the one that the call was made for
	killAt   time.Time // when the runtime kills the container
	retryAt  time.Time
	failure  *Failure // of the call before; nil: it was answered
	untrue   int      // how often the runtime reported it stopped although it still ran
}

// stopPosition is how far the call of StopContainer is.
type stopPosition int

const (
	stopToBeCalled stopPosition = iota // call when it is the container's turn, not before retryAt
	stopCalled                         // op is under way; a shorter grace calls again
	stopReturned                       // the exit is not known yet: wait for it for exitPatience, then for Observed
	stopDoubted                        // a snapshot shows it still running, or the runtime has it no more: wait for Observed
)

// waitsForSnapshot says whether the runtime reported the container as stopped but its
// exit is not known.
func (s stopping) waitsForSnapshot() bool { return s.position >= stopReturned }

// order is how and by when a container is told to end.
type order struct {
	message  string
	deadline time.Time
	force    bool
}

// orderFor combines the pod's end and the container's own kill: the nearer deadline
// counts.
func (m *Machine) orderFor(c *container) order {
	o := order{message: "Stopping container " + c.spec.Name, deadline: m.stop.Deadline, force: m.stop.Force}
	if c.Kill == nil {
		return o
	}
	o.message, o.force = c.Kill.Message, o.force || c.Kill.Force
	if o.deadline.IsZero() || c.Kill.Deadline.Before(o.deadline) {
		o.deadline = c.Kill.Deadline
	}
	return o
}

// stopOne takes the next step to end a running container: the Killing event, its preStop
// hook, then, when it is its turn, the signal (B-TRM-3, B-HOOK-2, B-SIDE-1). After the
// deadline it waits for nothing any more (B-SIDE-3). A shorter grace is a second, faster
// call (B-WRK-8).
func stopOne(s *step, c *container, itsTurn bool) {
	if c.Position != running {
		return
	}
	o := s.orderFor(c)
	beginStop(s, c, o)
	if waitsForPreStop(s, c, o) || (!itsTurn && !o.force && !s.due(o.deadline)) {
		return
	}
	if c.stopping.waitsForSnapshot() || !s.due(c.stopping.retryAt) {
		return
	}
	seconds := stopTimeout(s, o)
	killAt := s.now.Add(time.Duration(seconds) * time.Second)
	shortened := (o.force || o.deadline.Before(c.stopping.deadline)) && killAt.Before(c.stopping.killAt)
	if c.stopping.position == stopCalled && !shortened {
		return
	}
	c.stopping.position, c.stopping.op = stopCalled, s.nextID()
	c.stopping.deadline, c.stopping.killAt, c.stopping.retryAt = o.deadline, killAt, time.Time{}
	c.touchedAt = s.now
	s.do(StopContainer{ID: c.stopping.op, Container: c.spec.Name, ContainerID: c.ID, TimeoutSeconds: seconds})
}

// beginStop records that the container is being killed and starts its preStop hook.
func beginStop(s *step, c *container, o order) {
	if c.Ending {
		return
	}
	c.Ending = true
	s.do(RecordEvent{Type: normal, Reason: "Killing", Message: o.message, FieldPath: c.fieldPath()})
	giveUpPostStart(s, c)
	beginPreStop(s, c, o)
}

// minimumStopSeconds is the least time between stop signal and kill (B-SIG-4).
const minimumStopSeconds = 2

// stopTimeout is the remaining grace in whole seconds, at least the minimum (B-HOOK-3); 0
// only by force.
func stopTimeout(s *step, o order) int64 {
	if o.force {
		return 0
	}
	left := o.deadline.Sub(s.now)
	return max(int64((left+time.Second-1)/time.Second), minimumStopSeconds)
}

func (f ContainerStopped) apply(s *step) {
	i := slices.IndexFunc(s.containers, func(c *container) bool { return f.ID != 0 && c.stopping.op == f.ID })
	if i < 0 {
		return
	}
	c := s.containers[i]
	c.stopping.position, c.stopping.op, c.stopping.failure, c.touchedAt = stopToBeCalled, 0, nil, s.now
	if f.Failure != nil && f.Failure.Class != NotFound {
		c.stopping.failure, c.stopping.retryAt = f.Failure, s.now.Add(s.retryAfter(f.Failure))
		killFailed(s, f.Failure, c.stopping.retryAt)
		return
	}
	if c.Position == running { // it has exited; its exit is on the way, or is looked up (B-TRM-1)
		c.stopping.position = stopReturned
		if f.Failure != nil {
			c.stopping.position = stopDoubted
		}
	}
}

// killFailed records that something could not be stopped (B-TRM-2).
func killFailed(s *step, f *Failure, retryAt time.Time) {
	s.do(RecordEvent{Type: warning, Reason: "FailedKillPod", Message: "error killing pod: " + f.Message})
	tellRetry(s, Report{Subject: ofPod, Kind: "stop-failed", Message: f.Message, Rule: "B-TRM-2"}, retryAt)
}
