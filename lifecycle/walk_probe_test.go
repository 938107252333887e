package lifecycle

import (
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/lifepod/lifepod/internal/prove/walks"
)

// TestProbeWalks brings random pods to where their containers run, then takes random
// answers of their probes, because the walks of TestRandomWalks seldom stay there for
// long. The same laws hold.
func TestProbeWalks(t *testing.T) {
	t.Parallel()
	seen := map[string]int{}
	rapid.Check(t, func(rt *rapid.T) {
		w := newWalk(rt, randomPod(rt), seen)
		w.feed(Accepted{})
		for range 60 {
			w.goOn()
		}
		w.faultRate, w.unhealthy = []int{0, 1}[w.draw(2, "trouble")], []int{2, 5, 9}[w.draw(3, "unhealthy")]
		for range w.draw(100, "steps") {
			if w.draw(4, "probe or life") == 0 || !w.answersProbe() {
				w.act()
			}
		}
		w.comesToRest()
		w.stops()
	})
	walks.Log(t, seen, sometimesProbed)
	for _, what := range sometimesProbed {
		if seen[what] == 0 && (long() || checks() == usualChecks && !slices.Contains(rarelyProbed, what)) {
			t.Errorf("no walk ever came by %q: the walks do not prove what they should", what)
		}
	}
}

// sometimesProbed are the rare branches that TestProbeWalks must have reached.
var sometimesProbed = []string{
	"Unhealthy", "ProbeWarning", "A-PROBE-7", "A-CST-12", "A-CST-13", "A-COND-6", "late probe", "errored three times",
	"attempt given up", "killed by its startup probe", "killed by its liveness probe", "not restarted after a probe's kill",
	"readiness probe of what is ending", "readiness probe of what is killed", "gated by a sidecar", "not ready any more",
	"killed and exited as if nothing had been",
}

// rarelyProbed are those of them that the usual run may miss.
var rarelyProbed = []string{"errored three times", "killed by its startup probe", "not restarted after a probe's kill"}

// randomProbes gives a container the probes that its kind may have.
func randomProbes(rt *rapid.T, c *v1.Container) {
	for _, p := range []**v1.Probe{&c.StartupProbe, &c.LivenessProbe, &c.ReadinessProbe} {
		if rapid.IntRange(0, 2).Draw(rt, "has probe") < 2 {
			continue
		}
		*p = &v1.Probe{
			InitialDelaySeconds: rapid.SampledFrom([]int32{0, 0, 3}).Draw(rt, "delay"),
			PeriodSeconds:       rapid.SampledFrom([]int32{1, 10}).Draw(rt, "period"),
			TimeoutSeconds:      rapid.SampledFrom([]int32{1, 5}).Draw(rt, "timeout"),
			FailureThreshold:    rapid.Int32Range(1, 3).Draw(rt, "failures"),
		}
	}
	if c.ReadinessProbe != nil {
		c.ReadinessProbe.SuccessThreshold = rapid.Int32Range(1, 2).Draw(rt, "successes")
	} else if c.LivenessProbe != nil && rapid.Bool().Draw(rt, "own grace") {
		c.LivenessProbe.TerminationGracePeriodSeconds = new(int64(5))
	}
}

// answerOf is the result of a probe's attempt: normal, unless there is trouble.
func (w *walk) answerOf(p Probe) Probed {
	f := Probed{Result: Result{ID: p.ID}}
	if w.draw(10, "probe") >= w.unhealthy {
		return f
	}
	f.Outcome = []ProbeOutcome{ProbeWarning, ProbeFailure, ProbeFailure, ProbeFailure, ProbeError}[w.draw(5, "outcome")]
	f.Output = f.Outcome.word()
	f.Late = []time.Duration{0, 0, 400 * time.Millisecond, 4 * time.Second}[w.draw(4, "late")]
	return f
}

// answersProbe answers an attempt that is under way, after some time; if there is
// none, time passes until there may be.
func (w *walk) answersProbe() bool {
	i := slices.IndexFunc(w.calls, func(c *call) bool {
		_, ok := c.effect.(Probe)
		return ok && c.answer == nil
	})
	if i < 0 {
		return false
	}
	p := w.calls[i].effect.(Probe)
	w.calls = slices.Delete(w.calls, i, i+1)
	w.feed(w.answerOf(p))
	if w.m.wakeAt.After(w.now) && w.wakeAt.Before(w.now.Add(10*time.Second)) {
		w.timePasses()
	}
	return true
}

func (o ProbeOutcome) word() string { return [...]string{"fine", "warns", "fails", "errs"}[o] }

// setsCondition lets somebody set, or remove, the condition of a readiness gate.
func (w *walk) setsCondition() {
	status := []v1.ConditionStatus{v1.ConditionTrue, v1.ConditionFalse, ""}[w.draw(3, "condition")]
	w.feed(ConditionSet{Condition: v1.PodCondition{Type: "example.com/gate", Status: status}})
}

// reachProbes notes the rare branches of the probes.
func (w *walk) reachProbes(was *Machine, fact Fact) {
	f, answered := fact.(Probed)
	for i, c := range w.m.containers[:len(was.containers)] {
		old := was.containers[i]
		for k := range c.Probes {
			underWay := old.Probes[k].op
			w.note("late probe", answered && f.ID == underWay && f.Outcome == ProbeFailure && c.Probes[k].void > 0)
			w.note("attempt given up", !answered && underWay != 0 && c.Probes[k].op != underWay)
		}
		readiness, before := c.Probes[ReadinessProbe].Verdict, old.Probes[ReadinessProbe].Verdict
		w.note("not ready any more", before == probeSucceeded && readiness == probeFailed)
		w.note("errored three times", answered && f.Outcome == ProbeError && old.errored(f.ID) && !c.errored(f.ID))
		killed := c.Kill != nil && c.Kill.Verdict != nil && c.Verdict.Rule == "A-ACT-8"
		w.note("not restarted after a probe's kill", old.Exit == nil && c.Exit != nil && killed && !c.Verdict.Restart)
		w.note("killed and exited as if nothing had been", c.Exit != nil && restartsUnasked(&step{Machine: w.m, now: w.now}, c))
		sent := c.Probes[ReadinessProbe].op > old.Probes[ReadinessProbe].op
		w.note("readiness probe of what is ending", sent && c.Ending)
		w.note("readiness probe of what is killed", sent && c.Ending && c.Kill != nil)
		w.note("gated by a sidecar", c.kind == sidecarContainer && c.spec.StartupProbe != nil && old.Position == running && !old.started() && c.started())
	}
}

// errored says that an attempt under way is the last of three.
func (c *container) errored(op EffectID) bool {
	return slices.ContainsFunc(c.Probes[:], func(p probe) bool { return p.op == op && p.void == attempts-1 })
}
