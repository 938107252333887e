package roster

import (
	"maps"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/roster/admit"
)

// A-ACT-15: where Guaranteed pods have CPUs for themselves, their CPU can't be resized.
func TestExclusive(t *testing.T) {
	m := New(Options{Sources: []Source{API}, API: true, Fixed: Fixed{CPUs: true}})
	step := func(f Fact) []Effect { return m.Step(Event{At: start, Fact: f}) }
	guaranteed := func(cpu string) *v1.Pod {
		pod := podOf(API, "p", "p")
		list := cpus(cpu)
		maps.Copy(list, v1.ResourceList{v1.ResourceMemory: resource.MustParse("1Gi")})
		pod.Spec.Containers[0].Resources = v1.ResourceRequirements{Requests: list, Limits: list}
		return pod
	}
	step(NodeKnown{Node: nodeOf("4", nil)})
	step(Opened{})
	step(SourceHeard{Source: API})
	step(Wanted{Source: API, Pod: guaranteed("1")})
	effects := step(ResizeAsked{ID: 1, Pod: guaranteed("2")})
	want := []Effect{AnswerResize{ID: 1, Refusal: &admit.Refusal{
		Reason: v1.PodReasonInfeasible, Message: `Resize is infeasible for Guaranteed Pods alongside CPU Manager policy "static"`,
	}}}
	assert.Deep(t, "A-ACT-15", want, effects)
}
