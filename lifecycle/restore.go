package lifecycle

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
)

// Restore makes the machine of a pod whose lifepod was killed, from the last
// checkpoint it wrote. The pod is the one that New was given, with the same UID.
// The first event must be Resumed.
//
// Every effect that was under way counts as unanswered: what a create or start
// has come to is looked for, a stop is asked for again with what is left of its
// deadline, a preStop hook that had begun is not begun again, a postStart hook
// that had not ended is (Kubernetes promises the one at least once). What is
// idempotent is done again.
//
// The error says that the checkpoint is of no use: of a newer lifepod, of
// another pod, or damaged.
func Restore(pod *v1.Pod, options Options, c Checkpoint) (*Machine, error) {
	if c.Version < 1 || c.Version > CheckpointVersion {
		return nil, fmt.Errorf("checkpoint version %d: this lifepod reads versions 1 to %d", c.Version, CheckpointVersion)
	}
	if c.UID != string(pod.UID) {
		return nil, fmt.Errorf("checkpoint of the pod with UID %q, not of %q", c.UID, pod.UID)
	}
	m := New(c.podNow(pod), options)
	if m.generation = pod.Generation; c.Spec != nil {
		m.generation = specIsAnother
	}
	if len(c.Containers) != len(m.containers) {
		return nil, fmt.Errorf("checkpoint of %d containers, the pod has %d", len(c.Containers), len(m.containers))
	}
	stage, err := named(c.Stage, Gone)
	if err != nil {
		return nil, err
	}
	m.stage = min(stage, Terminated) // what ends in Gone is done, and told, again
	if m.sandbox, err = c.Sandbox.restore(); err != nil {
		return nil, err
	}
	for i, container := range m.containers {
		if err := c.Containers[i].restore(container); err != nil {
			return nil, err
		}
		if container.position == exited && container.nextBegun && stage == Syncing {
			container.position = uncertain
		}
	}
	m.restoreRest(c)
	return m, nil
}

// podNow is the pod with what has changed in it during its life.
func (c Checkpoint) podNow(pod *v1.Pod) *v1.Pod {
	if c.Spec == nil {
		return pod
	}
	changed := pod.DeepCopy()
	changed.Spec, changed.Generation = *c.Spec, c.Generation
	return changed
}

// restoreRest is all that can't be damaged in a way that shows.
func (m *Machine) restoreRest(c Checkpoint) {
	m.unseen, m.away = true, true
	m.startTime = c.StartTime
	m.initIndex = min(max(c.InitTurn, 0), len(m.inits()))
	m.stop, m.deleted = c.Stop.restore(), c.Deleted
	m.round = c.Round.restore()
	m.resize = c.Resize.restore(m.pod)
	m.release.straySandbox, m.release.doubt = c.StraySandbox, c.Doubt
	m.reported = *c.Reported.DeepCopy()
	if len(m.reported.Conditions) > 0 { // others' conditions were last seen there (A-COND-7)
		m.pod.Status.Conditions = othersConditions(m.reported.Conditions)
	}
	m.lastID, m.drift = c.LastID, c.Drift
	for image, b := range c.ImageBack {
		m.imageBack[image] = new(b.restore())
	}
}

func (c SandboxCheckpoint) restore() (sandbox, error) {
	state, err := named(c.State, sandboxUncertain)
	switch state {
	case sandboxCreating:
		state = sandboxUncertain
	case sandboxStopping:
		state = sandboxLost
	}
	return sandbox{state: state, id: c.ID, attempt: c.Attempt, ips: slices.Clone(c.IPs), retryAt: c.RetryAt}, err
}

func (c StopCheckpoint) restore() stop {
	return stop{
		cause: c.Cause, deadline: c.Deadline, force: c.Force, gaveUp: c.GaveUp, reason: c.Reason, message: c.Message,
		disruption: c.Disruption, overdueAt: c.OverdueAt,
	}
}

func (c RoundCheckpoint) restore() round {
	return round{
		active: c.Active, graceful: c.Graceful, because: c.Because, announced: work{done: c.Announced},
		ever: c.Ever, notBefore: c.NotBefore, allowance: c.Allowance,
	}
}

// restore asks anew for an image whose inspection or pull was under way.
func (c ImageCheckpoint) restore() image {
	i := image{info: c.Info, refused: cloneOf(c.Refused), retryAt: c.RetryAt}
	if c.Present {
		i.state = imagePresent
	}
	return i
}

func (c BackOffCheckpoint) restore() backOff { return backOff{delay: c.Delay, from: c.From} }

// named finds the value of an enumeration by its name.
func named[T interface {
	~int
	String() string
}](name string, last T) (T, error) {
	for v := T(0); v <= last; v++ {
		if v.String() == name {
			return v, nil
		}
	}
	return 0, fmt.Errorf("checkpoint says %q, which is none of this lifepod's words", name)
}
