package lifecycle

import (
	"cmp"
	"fmt"
	"slices"
)

func (c ContainerCheckpoint) restore(to *container) error {
	if c.Name != to.spec.Name {
		return fmt.Errorf("checkpoint of container %q, the pod has %q in its place", c.Name, to.spec.Name)
	}
	instance, err := c.Instance.restore()
	to.instance = instance
	to.restartCount, to.failures = c.RestartCount, c.Failures
	to.last, to.lastDone, to.previousID = c.Last.DeepCopy(), c.LastDone, c.PreviousID
	to.actuated = *c.Actuated.DeepCopy()
	to.image, to.outdated = c.Image.restore(), c.Outdated
	to.failure, to.retryAt = cloneOf(c.Failure), c.RetryAt
	to.backOff, to.roundBackOff = c.BackOff.restore(), c.RoundBackOff.restore()
	to.restartedAt = slices.Clone(c.RestartedAt)
	to.stopping = stopping{told: c.Instance.Stopping, preStop: hookRun{ended: c.Instance.Stopping}}
	return err
}

func (c InstanceCheckpoint) restore() (instance, error) {
	at, err := named(c.Position, uncertain)
	cutOff := c.CutOff || at == starting
	if at == creating || at == starting {
		at = uncertain
	}
	return instance{
		position:      at,
		id:            c.ID,
		reportedState: reportedState{imageName: c.ImageName, imageRef: c.ImageRef, user: c.User.DeepCopy(), reported: c.Reported.DeepCopy()},
		startedAt:     c.StartedAt,
		since:         cmp.Or(c.Since, c.StartedAt), // version 1 has none
		exit:          c.Exit.DeepCopy(),
		endedAt:       c.EndedAt,
		asked:         c.Asked,
		requested:     c.Requested,
		cutOff:        cutOff,
		nextBegun:     c.NextBegun,
		restart:       c.Verdict.restore(),
		postStart:     hookRun{ended: c.PostStart.Ended, failed: c.PostStart.Failed},
		kill:          c.Kill.restore(),
		probes:        [...]probe{c.Probes[0].restore(), c.Probes[1].restore(), c.Probes[2].restore()},
	}, err
}

// restore lets an attempt under way, which is lost, be made again at once.
func (c ProbeCheckpoint) restore() probe {
	verdict, err := named(c.Verdict, probeFailed)
	if err != nil {
		verdict = probeUndecided
	}
	return probe{next: c.Next, run: c.Run, failing: c.Failing, verdict: verdict}
}

func (c VerdictCheckpoint) restore() verdict {
	return verdict{
		restart: c.Restart, all: c.All, complete: c.Complete, terminate: c.Terminate, limit: c.Limit, because: c.Because, rule: c.Rule,
	}
}

func (c *KillCheckpoint) restore() *kill {
	if c == nil {
		return nil
	}
	k := &kill{message: c.Message, decided: c.Decided, deadline: c.Deadline, force: c.Force, requested: c.Requested, uncounted: c.Uncounted, failure: cloneOf(c.Failure)}
	if c.Verdict != nil {
		k.verdict = new(c.Verdict.restore())
	}
	return k
}
