package lifecycle

import (
	"slices"

	v1 "k8s.io/api/core/v1"
)

// ToSave says whether the last Step has changed anything that the next lifepod
// must know. A probe that was sent, or that went as the ones before, has not: in
// a pod that is only being probed nothing is to be saved.
func (m *Machine) ToSave() bool { return m.toSave }

// Checkpoint is the machine's state as it must outlive a kill -9; the caller
// owns it. Save it after each Step after which ToSave says so, before the step's
// effects are carried out.
func (m *Machine) Checkpoint() Checkpoint {
	c := Checkpoint{
		Version:      CheckpointVersion,
		UID:          string(m.pod.UID),
		Generation:   m.pod.Generation,
		Spec:         m.changedSpec(),
		Stage:        m.stage.String(),
		StartTime:    m.startTime,
		Sandbox:      m.sandbox.checkpoint(),
		InitTurn:     m.initIndex,
		Stop:         m.stop.checkpoint(),
		Deleted:      m.deleted,
		Round:        m.round.checkpoint(),
		Resize:       m.resize.checkpoint(),
		StraySandbox: m.release.straySandbox,
		Doubt:        m.release.doubt,
		Reported:     *m.reported.DeepCopy(),
		LastID:       m.lastID,
		Drift:        m.drift,
	}
	for _, container := range m.containers {
		c.Containers = append(c.Containers, container.checkpoint())
	}
	if m.sandbox.state == sandboxCreating { // nobody will hear of it if lifepod is killed now
		c.StraySandbox, c.Doubt = true, later(c.Doubt, m.sandbox.touchedAt.Add(lostSandboxDoubt))
	}
	if len(m.imageBack) > 0 {
		c.ImageBack = make(map[string]BackOffCheckpoint, len(m.imageBack))
	}
	for image, b := range m.imageBack {
		c.ImageBack[image] = b.checkpoint()
	}
	return c
}

// changedSpec is the pod's spec if it is not the one that New was given.
func (m *Machine) changedSpec() *v1.PodSpec {
	if m.pod.Generation == m.generation {
		return nil
	}
	return m.pod.Spec.DeepCopy()
}

func (b sandbox) checkpoint() SandboxCheckpoint {
	return SandboxCheckpoint{
		State: b.state.String(), ID: b.id, Attempt: b.attempt, IPs: slices.Clone(b.ips), RetryAt: b.retryAt,
	}
}

func (s stop) checkpoint() StopCheckpoint {
	return StopCheckpoint{
		Cause: s.cause, Deadline: s.deadline, Force: s.force, GaveUp: s.gaveUp, Reason: s.reason, Message: s.message,
		Disruption: s.disruption, OverdueAt: s.overdueAt,
	}
}

func (r round) checkpoint() RoundCheckpoint {
	return RoundCheckpoint{
		Active: r.active, Graceful: r.graceful, Because: r.because, Announced: r.announced.done,
		Ever: r.ever, NotBefore: r.notBefore, Allowance: r.allowance,
	}
}

func (c *container) checkpoint() ContainerCheckpoint {
	return ContainerCheckpoint{
		Name:         c.spec.Name,
		Instance:     c.instance.checkpoint(c.stopping.told),
		RestartCount: c.restartCount,
		Failures:     c.failures,
		Last:         c.last.DeepCopy(),
		LastDone:     c.lastDone,
		PreviousID:   c.previousID,
		Actuated:     *c.actuated.DeepCopy(),
		Image:        c.image.checkpoint(),
		Outdated:     c.outdated,
		Failure:      cloneOf(c.failure),
		RetryAt:      c.retryAt,
		BackOff:      c.backOff.checkpoint(),
		RoundBackOff: c.roundBackOff.checkpoint(),
		RestartedAt:  slices.Clone(c.restartedAt),
	}
}

func (i *instance) checkpoint(stopping bool) InstanceCheckpoint {
	return InstanceCheckpoint{
		Position:  i.position.String(),
		ID:        i.id,
		ImageName: i.imageName,
		ImageRef:  i.imageRef,
		User:      i.user.DeepCopy(),
		StartedAt: i.startedAt,
		Since:     i.since,
		Exit:      i.exit.DeepCopy(),
		EndedAt:   i.endedAt,
		Asked:     i.asked,
		Requested: i.requested,
		CutOff:    i.cutOff,
		NextBegun: i.nextBegun,
		Verdict:   i.restart.checkpoint(),
		PostStart: i.postStart.checkpoint(),
		Stopping:  stopping,
		Kill:      i.kill.checkpoint(),
		Reported:  i.reported.DeepCopy(),
		Probes:    [...]ProbeCheckpoint{i.probes[0].checkpoint(), i.probes[1].checkpoint(), i.probes[2].checkpoint()},
	}
}

func (h hookRun) checkpoint() HookCheckpoint { return HookCheckpoint{Ended: h.ended, Failed: h.failed} }

func (p probe) checkpoint() ProbeCheckpoint {
	return ProbeCheckpoint{Next: p.next, Run: p.run, Failing: p.failing, Verdict: p.verdict.String()}
}

func (v verdict) checkpoint() VerdictCheckpoint {
	return VerdictCheckpoint{
		Restart: v.restart, All: v.all, Complete: v.complete, Terminate: v.terminate, Limit: v.limit, Because: v.because, Rule: v.rule,
	}
}

func (k *kill) checkpoint() *KillCheckpoint {
	if k == nil {
		return nil
	}
	c := &KillCheckpoint{
		Message: k.message, Decided: k.decided, Deadline: k.deadline, Force: k.force, Requested: k.requested, Uncounted: k.uncounted, Failure: cloneOf(k.failure),
	}
	if k.verdict != nil {
		c.Verdict = new(k.verdict.checkpoint())
	}
	return c
}

func (i image) checkpoint() ImageCheckpoint {
	return ImageCheckpoint{Present: i.state == imagePresent, Info: i.info, Refused: cloneOf(i.refused), RetryAt: i.retryAt}
}

func (b backOff) checkpoint() BackOffCheckpoint {
	return BackOffCheckpoint{Delay: b.delay, From: b.from}
}
