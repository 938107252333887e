package lifecycle

import (
	"slices"
	"strings"
	"time"
)

// forStart lists what a container waits for that does not run and is to be started.
func (w *waits) forStart(c *container) {
	if w.m.restartAll.Active && c.restartsWithAll() {
		w.add(Wait{Subject: c.spec.Name, For: WaitRestartAll, Because: w.m.restartAll.Because.String(), Rule: "B-RAC-1"})
		for _, x := range []*work{&c.removal.newest, &c.removal.previous} {
			if until := w.ahead(x.retryAt); !x.done && x.op == 0 && !until.IsZero() {
				w.add(Wait{Subject: c.spec.Name, For: WaitRemoval, Since: w.m.onWall(x.since), Until: until, Because: x.failure.text(), Rule: "B-RAC-10"})
			}
		}
		w.forImages(c)
		return
	}
	if w.m.atBarrier(c) {
		w.forGroup(c)
	}
	w.forBackOff(c)
	if until := w.ahead(c.RetryAt); !until.IsZero() {
		w.add(Wait{Subject: c.spec.Name, For: WaitRetry, Since: w.m.onWall(c.touchedAt), Until: until, Because: c.Failure.text(), Rule: "A-SYNC-9"})
	}
	w.forTurn(c)
	w.forImages(c)
}

// forBackOff is about the pause after an exit, or after restarts of all containers that
// follow each other.
func (w *waits) forBackOff(c *container) {
	if w.exitedAhead(c) {
		because := exitText(c.Exit) + ", " + c.because().String()
		w.add(Wait{Subject: c.spec.Name, For: WaitBackOff, Since: w.m.onWall(c.EndedAt), Until: w.m.onWall(w.m.crashDue(c)), Because: because, Rule: "A-BO-3"})
		return
	}
	if until := w.ahead(w.m.restartAll.NotBefore); !until.IsZero() && c.restartsWithAll() {
		w.add(Wait{Subject: c.spec.Name, For: WaitBackOff, Until: until, Because: "all containers were restarted: " + w.m.restartAll.Because.String(), Rule: "B-RAC-18"})
	}
}

// exitedAhead says whether the container has exited and its restart is not due yet.
func (w *waits) exitedAhead(c *container) bool {
	return c.Position == exited && !w.ahead(w.m.crashDue(c)).IsZero()
}

// forTurn says what of the pod the container waits for: another container, or the setup.
func (w *waits) forTurn(c *container) {
	if c.kind == ephemeralContainer {
		if w.m.lacks() == "" && c.Position == absent && !w.m.hasTarget(c) {
			w.add(Wait{Subject: c.spec.Name, For: WaitTarget, On: c.target, Rule: "A-CRI-5"})
		}
	} else if on, rule := w.before(c); on != nil {
		w.add(Wait{Subject: c.spec.Name, For: WaitTurn, On: on.spec.Name, Rule: rule})
		return
	}
	if left := w.m.lacks(); left != "" {
		w.add(Wait{Subject: c.spec.Name, For: WaitSetup, On: string(left), Rule: "A-SYNC-8"})
	}
}

// before is the container that c comes after, and the rule; nil if it is c's turn.
func (w *waits) before(c *container) (*container, string) {
	inits, turn := w.m.inits(), w.m.kept.InitTurn
	if i := slices.Index(inits, c); turn < len(inits) && (i < 0 || i > turn) {
		if inits[turn].kind == sidecarContainer {
			return inits[turn], "A-INIT-4"
		}
		return inits[turn], "A-INIT-3"
	}
	if w.m.lacks() != "" || w.exitedAhead(c) || !w.ahead(c.RetryAt).IsZero() {
		return nil, ""
	}
	holds, order := w.m.containerNamed(w.m.holds), w.m.startOrder()
	if holds != nil && (holds.startUnderWay() || slices.Index(order, holds) < slices.Index(order, c)) {
		return holds, "A-ACT-10"
	}
	return nil, ""
}

// fetchesOf are the images that the container needs: its own, then those of its volumes.
func (w *waits) fetchesOf(c *container) []fetch {
	list := []fetch{c.fetch()}
	for _, v := range w.m.imageVolumesOf(c) {
		list = append(list, v.fetch())
	}
	return list
}

// forImages lists the images that are not there yet.
func (w *waits) forImages(c *container) {
	for _, f := range w.fetchesOf(c) {
		wait := Wait{Subject: c.spec.Name, On: f.reference, Because: f.Refused.text()}
		if f.Refused != nil && f.Refused.Detail != "" {
			wait.Because = f.Refused.Detail
		}
		switch {
		case f.op != 0 && f.pull:
			wait.For, wait.Since, wait.Rule = WaitImagePull, w.m.onWall(f.since), "A-IMG-4"
		case f.op != 0:
			wait.For, wait.Rule = WaitImage, "A-IMG-2"
		case !f.Present && f.Refused != nil:
			wait.For, wait.Rule = WaitImageRetry, "A-IMG-5"
			wait.Since, wait.Until = w.m.onWall(w.m.kept.ImageBack[f.reference].From), w.imageDue(f)
		default:
			continue
		}
		w.add(wait)
	}
}

// imageDue is when an image that could not be had is tried again: its next pull may come
// later than the next look for it.
func (w *waits) imageDue(f fetch) time.Time {
	b := w.m.kept.ImageBack[f.reference]
	return w.ahead(later(f.RetryAt, b.From.Add(b.Delay)))
}

// forCall is about a container that is being created or started.
func (w *waits) forCall(c *container) {
	wait := Wait{Subject: c.spec.Name, Since: w.m.onWall(c.touchedAt), Rule: "A-ACT-10"}
	if c.Failure != nil && c.Failure.Reason != crashLoopBackOff { // which is over
		wait.Because = c.Failure.text()
	}
	switch c.Position {
	case creating:
		wait.For = WaitCreate
	case starting:
		wait.For = WaitStart
	default:
		wait.For, wait.Rule = WaitSnapshot, "A-SYNC-9"
	}
	w.add(wait)
}

// forReadiness is about what a container that runs lacks before it has started, or is ready.
func (w *waits) forReadiness(c *container) {
	switch {
	case c.postStartPending():
		w.add(Wait{Subject: c.spec.Name, For: WaitHook, On: "postStart", Since: w.m.onWall(c.Since), Rule: "A-HOOK-1"})
	case !c.started():
		w.forProbe(c, StartupProbe, "A-CST-12")
	case c.probeSpec(ReadinessProbe) != nil && !c.ready():
		w.forProbe(c, ReadinessProbe, "A-CST-13")
	}
}

func (w *waits) forProbe(c *container, k ProbeKind, rule string) {
	p, spec := &c.Probes[k], c.probeSpec(k)
	if spec == nil {
		return
	}
	wait := Wait{Subject: c.spec.Name, For: WaitProbe, On: k.word(), Since: w.m.onWall(c.Since), Rule: rule}
	if p.op == 0 {
		wait.Until = w.ahead(c.probeDue(k))
	}
	wait.Probe = ProbeProgress{Failing: p.Failing, Run: p.Run, Of: spec.SuccessThreshold, Said: p.last}
	if p.Failing {
		wait.Probe.Of = spec.FailureThreshold
	}
	wait.Because = wait.Probe.String()
	w.add(wait)
}

// isEnding says whether a container that runs in a pod that lives is being stopped, or is to be when its turn comes.
func (c *container) isEnding() bool { return c.Kill != nil || c.Ending }

// forStop is about the end of a container that runs.
func (w *waits) forStop(c *container) {
	wait := Wait{Subject: c.spec.Name, Since: w.m.onWall(c.touchedAt), Because: c.stopping.failure.text()}
	if c.Kill != nil && wait.Because == "" {
		wait.Because = c.Kill.report.Words().What
	}
	switch deadline := w.ahead(w.m.orderFor(c).deadline); {
	case c.Ending && !c.stopping.preStop.Ended:
		wait.For, wait.On, wait.Until, wait.Rule = WaitPreStop, "preStop", deadline, "B-HOOK-2"
	case c.stopping.position == stopCalled:
		wait.For, wait.Until, wait.Rule = WaitGrace, w.m.onWall(c.stopping.killAt), "B-SIG-1"
	case c.stopping.waitsForSnapshot():
		wait.For, wait.Rule = WaitSnapshot, "B-TRM-1"
	case !w.ahead(c.stopping.retryAt).IsZero():
		wait.For, wait.Until, wait.Rule = WaitStopRetry, w.ahead(c.stopping.retryAt), "B-TRM-2"
	default:
		wait.For, wait.On, wait.Until, wait.Rule = WaitStopTurn, strings.Join(w.stoppedBefore(c), ", "), deadline, "B-SIDE-2"
	}
	w.add(wait)
}

// stoppedBefore are the containers that have to end before a sidecar gets its signal.
func (w *waits) stoppedBefore(c *container) (names []string) {
	if c.kind != sidecarContainer {
		return nil
	}
	for i, other := range w.m.ordered() {
		if other.mayRun() && (other.kind == regularContainer || other.kind == sidecarContainer && i > slices.Index(w.m.inits(), c)) {
			names = append(names, other.spec.Name)
		}
	}
	return names
}
