package lifecycle

import (
	"strings"

	v1 "k8s.io/api/core/v1"
)

// syncing lists what a pod that lives waits for.
func (w *waits) syncing() {
	w.forSetup()
	w.forSandbox()
	w.snapshot("A-SYNC-9")
	w.forRestartAll()
	w.forGates()
	w.forCompletion()
	w.forResize()
	w.on(&w.m.refresh.work, Wait{For: WaitVolumesRefresh, Rule: "A-VOL-5"})
	for _, c := range w.m.containers {
		w.forContainer(c)
	}
}

func (w *waits) forContainer(c *container) {
	switch {
	case c.Position == running && c.isEnding():
		w.forStop(c)
	case c.Position == running:
		w.forReadiness(c)
	case c.startUnderWay():
		w.forCall(c)
	case !c.final() || w.m.restartAll.Active && c.restartsWithAll():
		w.forStart(c)
	}
}

// forSetup lists what the pod needs beside its sandbox.
func (w *waits) forSetup() {
	w.on(&w.m.setup.cgroup, Wait{For: WaitCgroup, Rule: "A-SYNC-7"})
	w.on(&w.m.setup.volumes, Wait{For: WaitVolumes, Rule: "A-SYNC-8"})
	if w.m.sandbox.State == sandboxNone {
		w.on(&w.m.claims.prepared, Wait{For: WaitClaims, Rule: "A-DRA-6"})
	}
}

// forSandbox is about the sandbox that is being made, or replaced. One that waits for the
// setup is not listed: what it waits for is.
func (w *waits) forSandbox() {
	b := &w.m.sandbox
	wait := Wait{Subject: ofPod, For: WaitSandbox, Since: w.m.onWall(b.touchedAt), Because: b.failure.text(), Rule: "A-SBX-3"}
	switch b.State {
	case sandboxCreating:
	case sandboxNone:
		if wait.Until = w.ahead(b.RetryAt); wait.Until.IsZero() {
			return
		}
		if b.failure != nil && b.failure.Reason == NetworkNotReady {
			wait.For, wait.Because, wait.Rule = WaitNetwork, b.failure.Message, "A-SYNC-6"
		}
	case sandboxLost, sandboxStopping:
		w.forSandboxStop("A-SBX-1")
		return
	default:
		return
	}
	w.add(wait)
}

// forSandboxStop is about the end of a sandbox. While containers run in it, it waits for
// them, which they tell themselves.
func (w *waits) forSandboxStop(rule string) {
	b := &w.m.sandbox
	wait := Wait{Subject: ofPod, For: WaitSandboxStop, Since: w.m.onWall(b.touchedAt), Because: b.failure.text(), Rule: rule}
	if b.State != sandboxStopping {
		wait.Until = w.ahead(b.RetryAt)
	}
	if b.State == sandboxStopping || b.State == sandboxLost && !anyMayRun(w.m) || !wait.Until.IsZero() {
		w.add(wait)
	}
}

// forRestartAll is about a restart of all containers, and its phase.
func (w *waits) forRestartAll() {
	if !w.m.restartAll.Active {
		return
	}
	wait := Wait{Subject: ofPod, For: WaitRestartAll, On: "remove", Report: w.m.restartAll.report(), Rule: "B-RAC-5"}
	for _, c := range w.m.containers {
		if c.restartsWithAll() && c.mayRun() {
			wait.On, wait.Rule = "stop", "B-RAC-6"
		}
	}
	if !w.m.restartAll.Announced && wait.On == "remove" {
		wait.On, wait.Rule = "announce", "B-RAC-23"
		wait.Since = w.m.onWall(w.m.restartAll.announcing.since)
	}
	if !w.m.restartAll.Announced {
		wait.Until = w.ahead(w.m.restartAll.announcing.retryAt)
	}
	w.add(wait)
}

// forGates lists the readiness gates that are not open.
func (w *waits) forGates() {
	for _, gate := range w.m.pod.Spec.ReadinessGates {
		for _, problem := range closedGates([]v1.PodReadinessGate{gate}, w.m.kept.Reported.Conditions) {
			wait := Wait{Subject: ofPod, For: WaitReadinessGate, On: string(gate.ConditionType), Because: problem, Rule: "A-COND-6"}
			if c := Condition(w.m.kept.Reported.Conditions, gate.ConditionType); c != nil {
				wait.Value = string(c.Status)
			}
			w.add(wait)
		}
	}
}

// forCompletion says which containers still run after others have ended for good: until
// they end, the pod neither ends nor is it Ready.
func (w *waits) forCompletion() {
	var ended, others []string
	for _, c := range w.m.regulars() {
		if c.final() {
			ended = append(ended, c.spec.Name+" "+exitText(c.Exit))
		} else {
			others = append(others, c.spec.Name)
		}
	}
	if len(ended) == 0 || len(others) == 0 || w.m.restartAll.Active {
		return
	}
	w.add(Wait{Subject: ofPod, For: WaitCompletion, On: strings.Join(others, ", "), Because: strings.Join(ended, ", "), Rule: "A-ACT-13"})
}

// forResize is about resources that were asked for, and those that are being carried out.
func (w *waits) forResize() {
	r := &w.m.resize
	if r.Desired != nil {
		wait := Wait{Subject: ofPod, For: WaitResize, On: "admission", Since: w.m.onWall(r.admit.since), Until: w.ahead(r.admit.retryAt), Rule: "A-ACT-15"}
		if r.Pending != nil {
			wait.On, wait.Since, wait.Because = r.Pending.Reason, r.Pending.LastTransitionTime.Time, r.Pending.Message
		}
		w.add(wait)
	}
	if r.Progress != nil {
		w.add(Wait{
			Subject: ofPod, For: WaitResize, On: "InProgress", Since: r.Progress.LastTransitionTime.Time,
			Until: w.ahead(r.retryAt), Because: r.Progress.Message, Rule: "A-ACT-12",
		})
	}
}

// terminating lists what the end of a pod's processes waits for.
func (w *waits) terminating() {
	w.onlyUnderWay(&w.m.setup.cgroup, Wait{For: WaitCgroup, Rule: "B-WRK-4"})
	w.onlyUnderWay(&w.m.setup.volumes, Wait{For: WaitVolumes, Rule: "B-FIN-12"})
	w.onlyUnderWay(&w.m.claims.prepared, Wait{For: WaitClaims, Rule: "B-WRK-4"})
	if b := &w.m.sandbox; b.State == sandboxCreating {
		wait := Wait{Subject: ofPod, For: WaitSandbox, Since: w.m.onWall(b.touchedAt), Rule: "B-TRM-1"}
		if !w.m.stop.GaveUp {
			wait.Until = w.ahead(w.m.sandboxPatience())
		}
		w.add(wait)
	}
	w.forSandboxStop("B-TRM-1")
	w.snapshot("B-TRM-1")
	w.on(&w.m.claims.unprepared, Wait{For: WaitClaimsRelease, Rule: "A-DRA-9"})
	for _, c := range w.m.containers {
		switch {
		case c.Position == running:
			w.forStop(c)
		case c.startUnderWay():
			w.forCall(c)
		}
	}
}

// onlyUnderWay is on for work that is not tried again.
func (w *waits) onlyUnderWay(x *work, wait Wait) {
	if x.op != 0 {
		w.on(x, wait)
	}
}

// terminated lists what is still to be given back after nothing runs any more.
func (w *waits) terminated() {
	if w.m.refresh.op != 0 {
		w.on(&w.m.refresh.work, Wait{For: WaitVolumesRefresh, Rule: "B-FIN-6"})
	}
	w.on(&w.m.release.volumes, Wait{For: WaitUnmount, Rule: "B-FIN-6"})
	w.on(&w.m.release.sandbox, Wait{For: WaitSandboxRemove, Rule: "B-GC-4"})
	if w.m.release.sandbox.done && w.m.kept.StraySandbox && !w.m.keepsFiles() {
		w.snapshot("B-FIN-6")
	}
	w.on(&w.m.release.cgroup, Wait{For: WaitCgroupRemove, Rule: "B-FIN-6"})
}
