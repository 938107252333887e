package e2e

import (
	"slices"
	"strings"
	"testing"

	core "k8s.io/api/core/v1"
	policy "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifepod/lifepod/cluster/e2e/instance"
	"github.com/lifepod/lifepod/internal/assert"
)

const budget = `
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: served}
spec: {minAvailable: 1, selector: {matchLabels: {app: served}}}
`

// A pod that its budget needs is not evicted; drained with a budget that allows it, the
// node takes no pods until it is uncordoned. Not parallel: all pods would wait.
func TestDrain(t *testing.T) {
	s := newSpace(t, nil)
	s.create(workload("apps/v1 Deployment", "served", "replicas: 1", "exec sleep --on-term 0 1h") + budget)
	pod := s.running("app=served", "")
	s.wait("pdb/served", "jsonpath={.status.currentHealthy}=1")
	evict := policy.Eviction{ObjectMeta: meta.ObjectMeta{Name: pod.Name, Namespace: s.name}}
	err := client.PolicyV1().Evictions(s.name).Evict(t.Context(), &evict)
	assert.True(t, apierrors.IsTooManyRequests(err), "evict: %v, want too many requests", err)
	s.kubectl("patch", "pdb", "served", "-p", `{"spec":{"minAvailable":0}}`)
	t.Cleanup(func() { s.afterwards("uncordon", instance.Node) })
	out := s.kubectl("drain", instance.Node, "--pod-selector=app=served", "--timeout="+patience.String())
	assert.True(t, strings.Contains(out, "pod/"+pod.Name+" evicted"), "kubectl drain: %s, want the pod evicted", out)
	awaitSelected(s, "pods", meta.ListOptions{LabelSelector: "app=served"}, "find no node", func(p *core.Pod) bool {
		return slices.ContainsFunc(p.Status.Conditions, func(c core.PodCondition) bool { return c.Reason == core.PodReasonUnschedulable })
	})
	s.kubectl("uncordon", instance.Node)
	s.running("app=served", pod.Name)
}
