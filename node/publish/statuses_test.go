package publish

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifepod/lifepod/internal/assert"
)

func at(minute int) metav1.Time {
	return metav1.NewTime(time.Date(2026, 1, 1, 12, minute, 0, 0, time.UTC))
}

func atP(minute int) *metav1.Time {
	t := at(minute)
	return &t
}

func cond(t v1.PodConditionType, status v1.ConditionStatus, minute int) v1.PodCondition {
	return v1.PodCondition{Type: t, Status: status, LastTransitionTime: at(minute)}
}

// TestMerge: what becomes of the API's status, by rule.
func TestMerge(t *testing.T) {
	for name, c := range map[string]struct{ have, ours, want v1.PodStatus }{
		"a terminal phase stays, also against the other one (B-FIN-2)": {
			have: v1.PodStatus{Phase: v1.PodFailed, Reason: "Evicted", Message: "low on memory"},
			ours: v1.PodStatus{Phase: v1.PodSucceeded},
			want: v1.PodStatus{Phase: v1.PodFailed, Reason: "Evicted", Message: "low on memory"},
		},
		"startTime, qosClass and observedGeneration stay (A-CST-18, A-STAT-7)": {
			have: v1.PodStatus{StartTime: atP(1), QOSClass: v1.PodQOSBurstable, ObservedGeneration: 5},
			ours: v1.PodStatus{StartTime: atP(2), QOSClass: v1.PodQOSGuaranteed, ObservedGeneration: 4},
			want: v1.PodStatus{StartTime: atP(1), QOSClass: v1.PodQOSBurstable, ObservedGeneration: 5},
		},
		"they are set where there is none": {
			ours: v1.PodStatus{StartTime: atP(2), QOSClass: v1.PodQOSGuaranteed, ObservedGeneration: 4},
			want: v1.PodStatus{StartTime: atP(2), QOSClass: v1.PodQOSGuaranteed, ObservedGeneration: 4},
		},
		"what others own stays, what the node has seen of it does not count (A-COND-1, A-STAT-5, B-FIN-10)": {
			have: v1.PodStatus{
				Conditions:            []v1.PodCondition{cond("example.com/gate", v1.ConditionTrue, 1), cond(v1.PodReady, v1.ConditionFalse, 1)},
				ResourceClaimStatuses: []v1.PodResourceClaimStatus{{Name: "gpu"}},
			},
			ours: v1.PodStatus{Conditions: []v1.PodCondition{cond(v1.PodReady, v1.ConditionTrue, 2), cond("example.com/gate", v1.ConditionFalse, 0), cond("example.com/old", v1.ConditionTrue, 0)}},
			want: v1.PodStatus{
				Conditions:            []v1.PodCondition{cond("example.com/gate", v1.ConditionTrue, 1), cond(v1.PodReady, v1.ConditionTrue, 2)},
				ResourceClaimStatuses: []v1.PodResourceClaimStatus{{Name: "gpu"}},
			},
		},
		"a resize condition that is over goes (A-COND-10)": {
			have: v1.PodStatus{Conditions: []v1.PodCondition{cond(v1.PodResizeInProgress, v1.ConditionTrue, 1)}},
			ours: v1.PodStatus{Conditions: []v1.PodCondition{}},
			want: v1.PodStatus{Conditions: []v1.PodCondition{}},
		},
		"DisruptionTarget waits for the terminal phase (A-COND-9)": {
			have: v1.PodStatus{Phase: v1.PodRunning},
			ours: v1.PodStatus{Phase: v1.PodRunning, Conditions: []v1.PodCondition{cond(v1.DisruptionTarget, v1.ConditionTrue, 2)}},
			want: v1.PodStatus{Phase: v1.PodRunning, Conditions: []v1.PodCondition{}},
		},
		"and is sent with it, with the time of that (B-FIN-3)": {
			have: v1.PodStatus{Phase: v1.PodRunning},
			ours: v1.PodStatus{Phase: v1.PodFailed, Conditions: []v1.PodCondition{cond(v1.DisruptionTarget, v1.ConditionTrue, 2)}},
			want: v1.PodStatus{Phase: v1.PodFailed, Conditions: []v1.PodCondition{cond(v1.DisruptionTarget, v1.ConditionTrue, 30)}},
		},
		"somebody else's DisruptionTarget stays": {
			have: v1.PodStatus{Phase: v1.PodRunning, Conditions: []v1.PodCondition{cond(v1.DisruptionTarget, v1.ConditionTrue, 1)}},
			ours: v1.PodStatus{Phase: v1.PodFailed, Conditions: []v1.PodCondition{}},
			want: v1.PodStatus{Phase: v1.PodFailed, Conditions: []v1.PodCondition{cond(v1.DisruptionTarget, v1.ConditionTrue, 1)}},
		},
		"nothing is ready in a terminal phase (A-STAT-5, B-FIN-4)": {
			have: v1.PodStatus{Phase: v1.PodFailed},
			ours: v1.PodStatus{Phase: v1.PodRunning, Conditions: []v1.PodCondition{cond(v1.PodReady, v1.ConditionTrue, 2)}},
			want: v1.PodStatus{Phase: v1.PodFailed, Conditions: []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionFalse, Reason: "PodFailed", LastTransitionTime: at(2)}}},
		},
		"the last address of a pod that has ended stays (B-TRM-5)": {
			have: v1.PodStatus{PodIP: "10.0.0.1", PodIPs: []v1.PodIP{{IP: "10.0.0.1"}}},
			ours: v1.PodStatus{Phase: v1.PodFailed},
			want: v1.PodStatus{Phase: v1.PodFailed, PodIP: "10.0.0.1", PodIPs: []v1.PodIP{{IP: "10.0.0.1"}}},
		},
		"restartCount does not go back (A-STAT-7)": {
			have: v1.PodStatus{ContainerStatuses: []v1.ContainerStatus{{Name: "main", RestartCount: 3}}},
			ours: v1.PodStatus{ContainerStatuses: []v1.ContainerStatus{{Name: "main", RestartCount: 1}, {Name: "other"}}},
			want: v1.PodStatus{ContainerStatuses: []v1.ContainerStatus{{Name: "main", RestartCount: 3}, {Name: "other"}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			pod := &v1.Pod{Status: c.have}
			before := pod.DeepCopy()
			got := merge(pod, &c.ours, keepTransitions(nil, nil), at(30).Time)
			if !sameStatus(&c.want, got) {
				t.Errorf("merged (-want +got):\n%s", cmp.Diff(&c.want, got))
			}
			d := cmp.Diff(before, pod)
			assert.True(t, d == "", "the API's object has changed (-before +after):\n%s", d)
		})
	}
}

// TestFinalContainers: the end of a container that may not start again stays, and
// the rest of the status is published (A-STAT-6, A-API-4, B-FIN-9).
func TestFinalContainers(t *testing.T) {
	never, always := v1.ContainerRestartPolicyNever, v1.ContainerRestartPolicyAlways
	rule := func(action v1.ContainerRestartRuleAction, op v1.ContainerRestartRuleOnExitCodesOperator, codes ...int32) []v1.ContainerRestartRule {
		return []v1.ContainerRestartRule{{Action: action, ExitCodes: &v1.ContainerRestartRuleOnExitCodes{Operator: op, Values: codes}}}
	}
	const (
		restart = v1.ContainerRestartRuleActionRestart
		all     = v1.ContainerRestartRuleActionRestartAllContainers
		in      = v1.ContainerRestartRuleOnExitCodesOpIn
		notIn   = v1.ContainerRestartRuleOnExitCodesOpNotIn
	)
	for name, c := range map[string]struct {
		policy    v1.RestartPolicy
		container v1.Container
		exit      int32
		want      bool
	}{
		"Always":                      {v1.RestartPolicyAlways, v1.Container{}, 0, true},
		"OnFailure, failed":           {v1.RestartPolicyOnFailure, v1.Container{}, 1, true},
		"OnFailure, succeeded":        {v1.RestartPolicyOnFailure, v1.Container{}, 0, false},
		"Never":                       {v1.RestartPolicyNever, v1.Container{}, 1, false},
		"its own Always":              {v1.RestartPolicyNever, v1.Container{RestartPolicy: &always}, 0, true},
		"its own Never":               {v1.RestartPolicyAlways, v1.Container{RestartPolicy: &never}, 1, false},
		"a rule that matches":         {v1.RestartPolicyNever, v1.Container{RestartPolicy: &never, RestartPolicyRules: rule(restart, in, 3, 42)}, 42, true},
		"a rule that does not match":  {v1.RestartPolicyNever, v1.Container{RestartPolicy: &never, RestartPolicyRules: rule(restart, in, 3, 42)}, 41, false},
		"a rule of all other codes":   {v1.RestartPolicyNever, v1.Container{RestartPolicy: &never, RestartPolicyRules: rule(restart, notIn, 42)}, 41, true},
		"a rule that restarts all":    {v1.RestartPolicyNever, v1.Container{RestartPolicy: &never, RestartPolicyRules: rule(all, in, 42)}, 1, true},
		"a code that the rule leaves": {v1.RestartPolicyNever, v1.Container{RestartPolicy: &never, RestartPolicyRules: rule(restart, notIn, 42)}, 42, false},
	} {
		t.Run(name, func(t *testing.T) {
			c.container.Name = "main"
			pod := &v1.Pod{Spec: v1.PodSpec{RestartPolicy: c.policy, Containers: []v1.Container{c.container}}}
			ended := v1.ContainerState{Terminated: &v1.ContainerStateTerminated{ExitCode: c.exit}}
			pod.Status.ContainerStatuses = []v1.ContainerStatus{{Name: "main", State: ended}}
			ours := &v1.PodStatus{Message: "published", ContainerStatuses: []v1.ContainerStatus{{Name: "main"}}}
			got := merge(pod, ours, nil, at(30).Time)
			restarted := got.ContainerStatuses[0].State.Terminated == nil
			assert.True(t, restarted == c.want && got.Message == "published", "shown as started again: %v, want %v", restarted, c.want)
		})
	}
	ephemeral := &v1.Pod{Status: v1.PodStatus{EphemeralContainerStatuses: []v1.ContainerStatus{{
		Name: "debug", State: v1.ContainerState{Terminated: &v1.ContainerStateTerminated{}},
	}}}}
	ours := &v1.PodStatus{EphemeralContainerStatuses: []v1.ContainerStatus{{Name: "debug"}}}
	assert.True(t, merge(ephemeral, ours, nil, at(30).Time).EphemeralContainerStatuses[0].State.Terminated != nil,
		"an ephemeral container is shown as started again")
}

// TestTransitionTimes: after a restart, or when a pod is taken over, a condition
// keeps the time that the API has as long as it stays what it is (A-COND-2); one
// that has changed since has its own, although the API never saw it otherwise.
func TestTransitionTimes(t *testing.T) {
	deferred := func(reason string, minute int) v1.PodCondition {
		return v1.PodCondition{Type: v1.PodResizePending, Status: v1.ConditionTrue, Reason: reason, LastTransitionTime: at(minute)}
	}
	have := []v1.PodCondition{cond(v1.PodReady, v1.ConditionTrue, 1), cond(v1.PodInitialized, v1.ConditionFalse, 1), deferred("Deferred", 1)}
	first := []v1.PodCondition{cond(v1.PodReady, v1.ConditionTrue, 5), cond(v1.PodInitialized, v1.ConditionTrue, 5), deferred("Deferred", 5)}
	kept := keepTransitions(have, first)
	for _, c := range []struct {
		condition v1.PodCondition
		want      int
	}{
		{cond(v1.PodReady, v1.ConditionTrue, 5), 1},
		{cond(v1.PodInitialized, v1.ConditionTrue, 5), 5},
		{cond(v1.PodReady, v1.ConditionFalse, 7), 7},
		{cond(v1.PodReady, v1.ConditionTrue, 8), 8},
		{deferred("Deferred", 5), 1},
		{deferred("Infeasible", 5), 5},
	} {
		got := kept.of(c.condition)
		assert.True(t, got.Equal(atP(c.want)), "%s %s %s: %v, want minute %d", c.condition.Type, c.condition.Status, c.condition.Reason, got, c.want)
	}
}

// TestNormalize: seconds, and addresses in the form that the API server wants
// (A-STAT-9).
func TestNormalize(t *testing.T) {
	exact := metav1.NewTime(at(1).Add(123 * time.Millisecond))
	status := v1.PodStatus{
		StartTime: &exact,
		HostIP:    "192.0.2.1", HostIPs: []v1.HostIP{{IP: "2001:DB8:0:0::1"}},
		PodIP: "FD00::0:1", PodIPs: []v1.PodIP{{IP: "FD00::0:1"}, {IP: "10.0.0.1"}},
		Conditions:            []v1.PodCondition{{LastTransitionTime: exact}},
		InitContainerStatuses: []v1.ContainerStatus{{State: v1.ContainerState{Terminated: &v1.ContainerStateTerminated{StartedAt: exact, FinishedAt: exact}}}},
		ContainerStatuses:     []v1.ContainerStatus{{LastTerminationState: v1.ContainerState{Running: &v1.ContainerStateRunning{StartedAt: exact}}}},
	}
	normalize(&status)
	want := v1.PodStatus{
		StartTime: atP(1),
		HostIP:    "192.0.2.1", HostIPs: []v1.HostIP{{IP: "2001:db8::1"}},
		PodIP: "fd00::1", PodIPs: []v1.PodIP{{IP: "fd00::1"}, {IP: "10.0.0.1"}},
		Conditions:            []v1.PodCondition{{LastTransitionTime: at(1)}},
		InitContainerStatuses: []v1.ContainerStatus{{State: v1.ContainerState{Terminated: &v1.ContainerStateTerminated{StartedAt: at(1), FinishedAt: at(1)}}}},
		ContainerStatuses:     []v1.ContainerStatus{{LastTerminationState: v1.ContainerState{Running: &v1.ContainerStateRunning{StartedAt: at(1)}}}},
	}
	assert.Deep(t, "status", want, status)
}

// TestPatch: a strategic merge patch with the UID as precondition (B-FIN-10), and
// none when only the order of conditions differs.
func TestPatch(t *testing.T) {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web", UID: "1"}, Status: v1.PodStatus{
		Phase:      v1.PodPending,
		Conditions: []v1.PodCondition{cond(v1.PodReady, v1.ConditionFalse, 1), cond(v1.PodScheduled, v1.ConditionTrue, 1)},
	}}
	want := pod.Status.DeepCopy()
	want.Conditions[0], want.Conditions[1] = want.Conditions[1], want.Conditions[0]
	if patch, err := patchStatus(pod, want, nil); err != nil || patch != nil {
		t.Errorf("%s, %v for another order", patch, err)
	}
	want.Phase = v1.PodRunning
	want.Conditions[1].Status = v1.ConditionTrue
	patch := assert.Get(patchStatus(pod, want, nil)).Must(t)
	const expected = `{"metadata":{"uid":"1"},"status":{"$setElementOrder/conditions":[{"type":"PodScheduled"},{"type":"Ready"}],` +
		`"conditions":[{"status":"True","type":"Ready"}],"phase":"Running"}}`
	assert.Deep(t, "patch", expected, string(patch))
}
