package lifecycle

import (
	"fmt"
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/assert"
)

// BenchmarkProbed measures one attempt of each probe with unchanged results: the timer that
// sends three of them, and their three answers.
func BenchmarkProbed(b *testing.B) {
	m, now := probedPod(b)
	for b.Loop() {
		now = now.Add(time.Second)
		for _, e := range m.Step(Event{At: now, Fact: Woke{}}) {
			if p, ok := e.(Probe); ok {
				answered(b, m, now, p)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(4*b.N), "ns/step")
}

// TestProbesCostNothing: a probe with an unchanged result publishes nothing, and no
// status is derived for it.
func TestProbesCostNothing(t *testing.T) {
	m, now := probedPod(t)
	var probes []Probe
	now = now.Add(time.Second)
	for _, e := range m.Step(Event{At: now, Fact: Woke{}}) {
		if p, ok := e.(Probe); ok {
			probes = append(probes, p)
		}
	}
	assert.Require(t, len(probes) == 3, "%d probes are due, want 3", len(probes))
	answer := func() { // the first call is AllocsPerRun's own
		answered(t, m, now, probes[0])
		probes = probes[1:]
	}
	got := testing.AllocsPerRun(1, answer)
	assert.True(t, got <= 5, "the answer to a probe allocates %v times, want at most 5: is a status derived?", got)
}

// probedPod is a pod of three containers, each ready and probed every second.
func probedPod(t testing.TB) (*Machine, time.Time) {
	var spec v1.PodSpec
	for i := range 3 {
		spec.Containers = append(spec.Containers, v1.Container{Name: fmt.Sprintf("c%d", i), ReadinessProbe: &v1.Probe{PeriodSeconds: 1}})
	}
	tr := playing(t, spec)
	tr.settle(t, nil)
	status := tr.m.Status()
	assert.Require(t, isTrue(status.Conditions, v1.PodReady), "the pod is not ready: %+v", status)
	return tr.m, tr.now
}

func answered(t testing.TB, m *Machine, now time.Time, p Probe) {
	for _, e := range m.Step(Event{At: now, Fact: Probed{Result: Result{ID: p.ID}}}) {
		_, ok := e.(WakeAt)
		assert.Require(t, ok, "a probe that goes as before leads to %T", e)
	}
}

// TestUnshownCostsNothing: no status is derived after facts that none tells of. One that was would have the mark.
func TestUnshownCostsNothing(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	step := func(m *Machine, fact Fact) []Effect { return m.Step(Event{At: now, Fact: fact}) }
	unshown := func(m *Machine, fact Fact) []Effect {
		t.Helper()
		for i := range m.derived.containers {
			m.derived.containers[i].status.ImageID = "mark"
		}
		effects := step(m, fact)
		assert.True(t, !slices.ContainsFunc(effects, func(e Effect) bool { _, is := e.(Publish); return is }), "a status is derived after %T", fact)
		return effects
	}
	fresh := func() (*Machine, []Effect) {
		pod := &v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{{Name: "a", Image: "img:1"}}}}
		defaults(pod)
		m := New(pod, DefaultOptions())
		return m, step(m, Accepted{})
	}
	m, effects := fresh()
	for _, e := range effects {
		switch e := e.(type) {
		case InspectImage:
			unshown(m, ImageInspected{Result: Result{ID: e.ID}, Image: &ImageInfo{}})
		case EnsureCgroup, MountVolumes:
			unshown(m, AnswerTo(e, nil))
		}
	}
	m, effects = fresh()
	for effects = append(effects, step(m, StopRequested{})...); len(effects) > 0; effects = effects[1:] {
		switch e := effects[0].(type) {
		case EnsureCgroup, MountVolumes:
			effects = append(effects, step(m, AnswerTo(e, nil))...)
		case UnmountVolumes, RemoveCgroup:
			effects = append(effects, unshown(m, AnswerTo(e, nil))...)
		}
	}
	assert.True(t, m.Stage() == Gone, "the pod is %v, and not gone", m.Stage())
	tr := playing(t, v1.PodSpec{Containers: []v1.Container{{Name: "a"}}})
	tr.settle(t, nil)
	unshown(tr.m, ContainerRunning{ContainerID: "a-0"})
}
