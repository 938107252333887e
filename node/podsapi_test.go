package node

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/roster"
)

// A pod of which this node has published nothing yet is pending, or as its source has it, but not ready (A-NODE-8).
func TestEffective(t *testing.T) {
	ready := v1.PodCondition{Type: v1.PodReady, Status: v1.ConditionTrue}
	scheduled := v1.PodCondition{Type: v1.PodScheduled, Status: v1.ConditionTrue}
	initializing := v1.PodCondition{Type: v1.PodReady, Status: v1.ConditionFalse, Reason: "ContainersNotReady", Message: "Kubelet is initializing pod containers"}
	running := v1.PodStatus{Phase: v1.PodRunning, Conditions: []v1.PodCondition{scheduled, ready}}
	for name, test := range map[string]struct {
		is, want  v1.PodStatus
		published bool
	}{
		"new":       {want: v1.PodStatus{Phase: v1.PodPending}},
		"of before": {is: running, want: v1.PodStatus{Phase: v1.PodRunning, Conditions: []v1.PodCondition{scheduled, initializing}}},
		"published": {is: running, want: running, published: true},
	} {
		pod := &v1.Pod{Status: *test.is.DeepCopy()}
		got := effective(roster.View{Pod: pod, Published: test.published})
		assert.Deep(t, fmt.Sprintf("A-NODE-8 %s", name), test.want, got.Status)
		diff := cmp.Diff(test.is, pod.Status)
		assert.True(t, diff == "", "%s: the roster's pod was changed (-was +is):\n%s", name, diff)
	}
}
