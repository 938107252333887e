package admit

import (
	"fmt"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/assert"
)

func TestFitsResize(t *testing.T) {
	others := []*v1.Pod{testPod("other", "cpu=500m"), testPod("p", "cpu=1")}
	was := testPod("p", "cpu=1 memory=1Mi", guaranteed)
	small, restarts, limited := testPod("p", "memory=1Mi"), testPod("p", "memory=2Mi"), testPod("p", "memory=2Mi")
	restarts.Spec.Containers[0].ResizePolicy = []v1.ContainerResizePolicy{{ResourceName: v1.ResourceMemory, RestartPolicy: v1.RestartContainer}}
	limited.Spec.Containers[0].Resources.Limits = v1.ResourceList{v1.ResourceMemory: limited.Spec.Containers[0].Resources.Requests[v1.ResourceMemory]}
	swap := &Refusal{Reason: "Infeasible", Message: "In-place resize of containers with swap is not supported."}
	for name, tc := range map[string]struct {
		was, is   *v1.Pod
		exclusive Fixed
		want      *Refusal
	}{
		"A-ACT-15 memory with swap":      {small, testPod("p", "memory=2Mi"), Fixed{Swap: true}, swap},
		"without swap":                   {small, testPod("p", "memory=2Mi"), Fixed{}, nil},
		"A-ACT-15 it begins to swap":     {limited, testPod("p", "memory=3Mi"), Fixed{Swap: true}, swap},
		"no swap before or after":        {testPod("p", ""), limited, Fixed{Swap: true}, nil},
		"with swap, the CPU":             {testPod("p", "cpu=1 memory=1Mi"), testPod("p", "cpu=1500m memory=1Mi"), Fixed{Swap: true}, nil},
		"with swap, but it is restarted": {restarts, testPod("p", "memory=1Mi"), Fixed{Swap: true}, nil},
		"with swap, Guaranteed":          {was, testPod("p", "cpu=1 memory=2Mi", guaranteed), Fixed{Swap: true}, nil},
	} {
		assert.Deep(t, fmt.Sprintf("%s: rejection", name), tc.want, FitsResize(Resize{Requested: tc.is, Allocated: tc.was}, Beside(tc.is, others), testNode(), tc.exclusive).Refusal)
	}
	tests := []struct {
		name      string
		requested *v1.Pod
		node      *v1.Node
		exclusive Fixed
		want      *Refusal
	}{
		{"A-ACT-15 there is room", testPod("p", "cpu=1500m"), testNode(), Fixed{}, nil},
		{"A-ACT-15 not now", testPod("p", "cpu=1600m"), testNode(), Fixed{}, &Refusal{Reason: "Deferred", Message: "Node didn't have enough resource: cpu, requested: 1600, used: 500, capacity: 2000"}},
		{"A-ACT-15 no node", testPod("p", "cpu=1"), nil, Fixed{}, &Refusal{Reason: "Deferred", Message: "Kubelet cannot get node info."}},
		{"A-ACT-15 exclusive CPUs", testPod("p", "cpu=1500m memory=1Mi", guaranteed), testNode(), Fixed{CPUs: true}, &Refusal{Reason: "Infeasible", Message: `Resize is infeasible for Guaranteed Pods alongside CPU Manager policy "static"`}},
		{"exclusive CPUs are not of Burstable pods", testPod("p", "cpu=1500m"), testNode(), Fixed{CPUs: true}, nil},
		{"exclusive CPUs do not mind memory", testPod("p", "cpu=1 memory=2Mi", guaranteed), testNode(), Fixed{CPUs: true}, nil},
		{"A-ACT-15 exclusive memory", testPod("p", "cpu=1 memory=2Mi", guaranteed), testNode(), Fixed{Memory: true}, &Refusal{Reason: "Infeasible", Message: `Resize is infeasible for Guaranteed Pods alongside Memory Manager policy "Static"`}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			got := FitsResize(Resize{Requested: tc.requested, Allocated: was}, Beside(tc.requested, others), tc.node, tc.exclusive)
			assert.Deep(t, "rejection", tc.want, got.Refusal)
		})
	}
}

func TestRetryOrder(t *testing.T) {
	first := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	to := func(name, was, is string, since time.Time, changes ...change) Resize {
		return Resize{Requested: testPod(name, is, changes...), Allocated: testPod(name, was, changes...), PendingSince: since}
	}
	pending := []Resize{
		to("new", "cpu=1", "cpu=2", time.Time{}),
		to("later", "cpu=1", "cpu=2", first.Add(time.Second)),
		to("earlier", "cpu=1", "cpu=2", first),
		to("guaranteed", "cpu=1 memory=1Mi", "cpu=1 memory=2Mi", first.Add(time.Hour), guaranteed),
		to("urgent", "cpu=1", "cpu=2", first.Add(time.Hour), withPriority(10)),
		to("smaller", "cpu=2", "cpu=1", first.Add(time.Hour)),
		to("smaller and urgent", "cpu=2", "cpu=1", time.Time{}, withPriority(5)),
	}
	RetryOrder(pending)
	var got []string
	for _, r := range pending {
		got = append(got, r.Requested.Name)
	}
	want := []string{"smaller and urgent", "smaller", "urgent", "guaranteed", "earlier", "later", "new"}
	assert.Deep(t, "A-ACT-15 order", want, got)
}
