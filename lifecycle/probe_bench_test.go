package lifecycle

import (
	"fmt"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
)

// BenchmarkProbed measures one round of probes with unchanged results: the timer that
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
	if len(probes) != 3 {
		t.Fatalf("%d probes are due, want 3", len(probes))
	}
	answer := func() { // the first call is AllocsPerRun's own
		answered(t, m, now, probes[0])
		probes = probes[1:]
	}
	if got := testing.AllocsPerRun(1, answer); got > 5 {
		t.Errorf("the answer to a probe allocates %v times, want at most 5: is a status derived?", got)
	}
}

// probedPod is a pod of three containers, each ready and probed every second.
func probedPod(t testing.TB) (*Machine, time.Time) {
	pod := &v1.Pod{}
	for i := range 3 {
		pod.Spec.Containers = append(pod.Spec.Containers, v1.Container{
			Name: fmt.Sprintf("c%d", i), ReadinessProbe: &v1.Probe{PeriodSeconds: 1},
		})
	}
	defaults(pod)
	m, now := New(pod, DefaultOptions()), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	r := pretendedRuntime{}
	for facts := []Fact{Accepted{}}; len(facts) > 0; facts = facts[1:] {
		for _, e := range m.Step(Event{At: now, Fact: facts[0]}) {
			if e.EffectID() != 0 {
				facts = append(facts, r.carryOut(t, e, now)...)
			}
		}
	}
	if status := m.Status(); !isTrue(status.Conditions, v1.PodReady) {
		t.Fatalf("the pod is not ready: %+v", status)
	}
	return m, now
}

func answered(t testing.TB, m *Machine, now time.Time, p Probe) {
	for _, e := range m.Step(Event{At: now, Fact: Probed{Result: Result{ID: p.ID}}}) {
		if _, ok := e.(WakeAt); !ok {
			t.Fatalf("a probe that goes as before leads to %T", e)
		}
	}
}
