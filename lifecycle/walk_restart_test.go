package lifecycle

import (
	v1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"
)

// randomHooks draws a container's lifecycle hooks; what they do is up to the walk.
func randomHooks(rt *rapid.T) *v1.Lifecycle {
	hook := &v1.LifecycleHandler{Sleep: &v1.SleepAction{Seconds: 1}}
	switch rapid.IntRange(0, 5).Draw(rt, "hooks") {
	case 3:
		return &v1.Lifecycle{PreStop: hook}
	case 4:
		return &v1.Lifecycle{PostStart: hook}
	case 5:
		return &v1.Lifecycle{PostStart: hook, PreStop: hook}
	}
	return nil
}

// rareRule is a rule whose action is more than a restart. None applies to exit code 0,
// with which pods come to rest.
func rareRule(rt *rapid.T) v1.ContainerRestartRule {
	actions := []v1.ContainerRestartRuleAction{
		v1.ContainerRestartRuleActionRestartAllContainers, v1.ContainerRestartRuleActionRestartAllContainers, ActionComplete, ActionTerminatePod,
	}
	return v1.ContainerRestartRule{
		Action: rapid.SampledFrom(actions).Draw(rt, "action"),
		ExitCodes: &v1.ContainerRestartRuleOnExitCodes{
			Operator: v1.ContainerRestartRuleOnExitCodesOpIn,
			Values:   rapid.SliceOfN(rapid.SampledFrom([]int32{1, 42, 137}), 1, 2).Draw(rt, "codes"),
		},
	}
}

// asksForRestart lets somebody ask for a restart of one container or of all.
func (w *walk) asksForRestart() {
	f := RestartRequested{Graceful: w.draw(2, "graceful") == 1}
	if i := w.draw(len(w.m.ordered())+1, "restart"); i < len(w.m.ordered()) {
		f.Container = w.m.ordered()[i].spec.Name
		w.asked[f.Container] = true
	}
	w.feed(f)
}

// hook: a preStop hook runs once per instance, before its stop signal (B-HOOK-1); in a
// pod that is ending, only preStop hooks begin.
func (l *invariants) hook(w *walk, e RunHook) {
	if e.Hook == PostStart {
		l.onlySyncing(w, e)
		return
	}
	if l.hooks[e.ContainerID] {
		l.t.Fatalf("the preStop hook of %s runs a second time", e.ContainerID)
	}
	if l.signalled[e.ContainerID] {
		l.t.Fatalf("the preStop hook of %s runs after its stop signal", e.ContainerID)
	}
	l.hooks[e.ContainerID] = true
}

// inTime: hook and signal share the pod's one deadline, except for the signal's two
// seconds (B-HOOK-3, B-WRK-9).
func (l *invariants) inTime(w *walk, e StopContainer) {
	l.signalled[e.ContainerID] = true
	if w.m.kept.Stage != Terminating {
		return
	}
	left := w.m.stop.Deadline.Sub(w.now).Seconds()
	if float64(e.TimeoutSeconds) > max(left+1, minimumStopSeconds) {
		l.t.Fatalf("%s is given %ds, but the deadline is in %.1fs", e.Container, e.TimeoutSeconds, left)
	}
}
