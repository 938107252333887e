package lifecycle

import (
	"fmt"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// probeLaws check the probes of a life against the contract, with counts of their own.
type probeLaws struct {
	t        fataler
	underWay map[EffectID]Probe
	sentAt   map[string]time.Time // by probe of an instance: when the last attempt was sent that may count
	retry    map[string]bool      // the last attempt counted as nothing
	fails    map[string]int32     // counted failures in a row
	started  map[string]bool      // instances whose startup probe has succeeded
	gates    map[string]bool      // "sandbox sidecar": some instance has started in that sandbox
}

func newProbeLaws(t fataler) *probeLaws {
	return &probeLaws{
		t: t, underWay: map[EffectID]Probe{}, sentAt: map[string]time.Time{}, retry: map[string]bool{},
		fails: map[string]int32{}, started: map[string]bool{}, gates: map[string]bool{},
	}
}

// crash forgets what died with lifepod: attempts under way, and when they were sent.
func (l *probeLaws) crash() {
	clear(l.underWay)
	clear(l.sentAt)
	clear(l.retry)
}

// before notes a fact that is about to be fed.
func (l *probeLaws) before(w *walk, fact Fact) {
	f, ok := fact.(Probed)
	p, known := l.underWay[f.ID]
	if !ok || !known {
		return
	}
	delete(l.underWay, f.ID)
	key := probeKey(p)
	spec := w.m.containerNamed(p.Container).probeSpec(p.Kind)
	late := f.Outcome == ProbeFailure && f.Late >= time.Duration(spec.TimeoutSeconds)*time.Second/2
	l.retry[key] = f.Failure != nil || f.Outcome == ProbeError || late
	switch {
	case l.retry[key]:
	case f.Outcome == ProbeFailure:
		l.fails[key]++
	default:
		l.fails[key] = 0
		if p.Kind == StartupProbe {
			l.started[p.ContainerID] = true
			l.gates[w.m.sandbox.ID+" "+p.Container] = true
		}
	}
}

func probeKey(p Probe) string { return fmt.Sprint(p.ContainerID, p.Kind) }

// effect checks one effect against what the probes have said so far.
func (l *probeLaws) effect(w *walk, e Effect) {
	switch e := e.(type) {
	case Cancel:
		delete(l.underWay, e.ID)
	case Probe:
		l.probe(w, e)
	case CreateContainer:
		l.gated(w, e)
	case Tell:
		if k, failed := killedBy(e.Report); failed {
			l.killed(w, w.m.containerNamed(e.Report.Subject), k)
		}
	}
}

// probe: of an instance that runs, one attempt at a time and no more often than
// its period, startup first, and only readiness once the pod or the container is ending.
func (l *probeLaws) probe(w *walk, p Probe) {
	c, key := w.m.containerNamed(p.Container), probeKey(p)
	spec := c.probeSpec(p.Kind)
	for _, other := range l.underWay {
		if probeKey(other) == key {
			l.t.Fatalf("two attempts of the %s probe of %s overlap", p.Kind, p.ContainerID)
		}
	}
	l.underWay[p.ID] = p
	switch {
	case c.Position != running || c.ID != p.ContainerID:
		l.t.Fatalf("%s is probed and does not run", p.ContainerID)
	case p.Kind != ReadinessProbe && (w.m.kept.Stage != Syncing || c.Ending):
		l.t.Fatalf("%s probe of %s, which is ending (B-PRB-1)", p.Kind, p.ContainerID)
	case (p.Kind == StartupProbe) == l.up(c):
		l.t.Fatalf("%s probe of %s, which has started: %t (A-PROBE-4)", p.Kind, p.ContainerID, l.up(c))
	case w.now.Before(c.StartedAt.Add(time.Duration(spec.InitialDelaySeconds) * time.Second)):
		l.t.Fatalf("%s probe of %s before its initial delay", p.Kind, p.ContainerID)
	case !l.retry[key] && w.now.Before(l.sentAt[key].Add(time.Duration(spec.PeriodSeconds)*time.Second)):
		l.t.Fatalf("%s probe of %s %v after the one before", p.Kind, p.ContainerID, w.now.Sub(l.sentAt[key]))
	}
	if !l.retry[key] {
		l.sentAt[key] = w.now
	}
}

// up says whether an instance has started up completely.
func (l *probeLaws) up(c *container) bool { return c.probeSpec(StartupProbe) == nil || l.started[c.ID] }

// gated: nothing starts before the sidecars in front of it have, once in this sandbox (A-INIT-4).
func (l *probeLaws) gated(w *walk, e CreateContainer) {
	if w.m.containerNamed(e.Container).kind == ephemeralContainer {
		return
	}
	for _, c := range w.m.inits() {
		if c.spec.Name == e.Container {
			return
		}
		if c.kind == sidecarContainer && c.spec.StartupProbe != nil && !l.gates[e.SandboxID+" "+c.spec.Name] {
			l.t.Fatalf("%s is created before the sidecar %s has started up (A-INIT-4)", e.Container, c.spec.Name)
		}
	}
}

func killedBy(r Report) (ProbeKind, bool) {
	for _, k := range []ProbeKind{StartupProbe, LivenessProbe} {
		if r.Kind == KindProbeFailed && r.Outcome != "" && r.On == k.word() && r.Message == ProbeFailure.word() {
			return k, true
		}
	}
	return 0, false
}

// killed: only after as many failures in a row as the threshold says, and
// liveness only of what has started.
func (l *probeLaws) killed(w *walk, c *container, k ProbeKind) {
	w.seen["killed by its "+k.word()+" probe"]++
	spec, run := c.probeSpec(k), l.fails[probeKey(Probe{ContainerID: c.ID, Kind: k})]
	if run < spec.FailureThreshold {
		l.t.Fatalf("%s is killed after %d of %d failures of its %s probe", c.spec.Name, run, spec.FailureThreshold, k)
	}
	if k == LivenessProbe && !l.up(c) {
		l.t.Fatalf("%s is killed by its liveness probe before it has started", c.spec.Name)
	}
}

// published: ready only what has started, started only what runs.
func (l *probeLaws) published(w *walk, s v1.PodStatus) {
	for _, list := range [][]v1.ContainerStatus{s.InitContainerStatuses, s.ContainerStatuses} {
		for i := range list {
			c := w.m.containerNamed(list[i].Name)
			if c.kind == initContainer {
				continue
			}
			if list[i].Ready && !*list[i].Started || *list[i].Started && list[i].State.Running == nil {
				l.t.Fatalf("%s: ready=%t started=%t in %+v", c.spec.Name, list[i].Ready, *list[i].Started, list[i].State)
			}
			if *list[i].Started && !l.up(c) {
				l.t.Fatalf("%s is shown as started before its startup probe has succeeded", c.spec.Name)
			}
		}
	}
	gate := Condition(s.Conditions, "example.com/gate")
	if isTrue(s.Conditions, v1.PodReady) && len(w.pod.Spec.ReadinessGates) > 0 && (gate == nil || gate.Status != v1.ConditionTrue) {
		l.t.Fatalf("Ready while a readiness gate is not True (A-COND-6)")
	}
}

// nothingNew: if a step publishes no status, the status has not changed, except for an
// instance whose start is under way (A-STAT-11). Only after these facts a machine may
// not derive it; after all other facts its clone has derived it without memory (sameAgain).
func (l *probeLaws) nothingNew(w *walk, fact Fact) {
	if w.m.passing {
		if !slices.ContainsFunc(w.m.containers, func(c *container) bool { return c.Position == starting }) {
			l.t.Fatalf("the status waits for a start, and nothing is being started")
		}
		return
	}
	switch fact.(type) {
	case Woke, Probed, ContainerRunning, VolumesMounted, ImageInspected, CgroupEnsured, VolumesUnmounted, CgroupRemoved, SandboxRemoved:
	default:
		return
	}
	if w.m.kept.StartTime.IsZero() || w.m.adopted && w.m.unseen {
		return
	}
	anew := w.m.Clone()
	anew.derived = derived{}
	if got := statusOf(&step{Machine: anew, now: w.now}); !equality.Semantic.DeepEqual(got, w.m.kept.Reported) {
		l.t.Fatalf("the status has changed and was not published (-published +now):\n%s", cmp.Diff(w.m.kept.Reported, got))
	}
}
