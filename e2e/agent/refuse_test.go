package agent

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
)

// TestRefusedPods: a pod that was bound without asking the scheduler is refused with the
// kubelet's words, and can be deleted (A-ADM-2, A-ADM-4).
func TestRefusedPods(t *testing.T) {
	t.Parallel()
	for reason, test := range map[string]struct{ spec, message string }{
		"NodeAffinity": {
			`nodeSelector: {no: such}`,
			"Pod was rejected: Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector",
		},
		"OutOfcpu": {
			`containers: [{name: main, image: TOOLBOX, resources: {requests: {cpu: 9k}}}]`,
			"Pod was rejected: Node didn't have enough resource: cpu, requested: 9000000, used: ",
		},
		"OutOfmemory": {
			`containers: [{name: main, image: TOOLBOX, resources: {requests: {memory: 9P}}}]`,
			"Pod was rejected: Node didn't have enough resource: memory, requested: 9000000000000000, used: ",
		},
		"SysctlForbidden": {
			`securityContext: {sysctls: [{name: kernel.msgmax, value: "1"}]}`,
			`Pod was rejected: forbidden sysctl: "kernel.msgmax" not allowlisted`,
		},
	} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, shared)
			manifest := "metadata: {name: pod}\nspec:\n  nodeName: " + shared.Name + "\n  " + test.spec
			if !strings.Contains(test.spec, "containers") {
				manifest += "\n  containers: [{name: main, image: TOOLBOX}]"
			}
			c.create(manifest)
			pod := c.await("pod", "to be refused", func(pod *v1.Pod) bool { return pod.Status.Phase == v1.PodFailed })
			if diff := cmp.Diff(reason, pod.Status.Reason); diff != "" || !strings.HasPrefix(pod.Status.Message, test.message) {
				t.Errorf("reason (-want +got):\n%s\nmessage %q, want it to begin with %q", diff, pod.Status.Message, test.message)
			}
			c.awaitEvent("pod", v1.EventTypeWarning, reason)
			c.delete("pod")
		})
	}
}

// awaitEvent waits for an event about a pod.
func (c *cluster) awaitEvent(pod, kind, reason string) *v1.Event {
	c.t.Helper()
	return c.awaitEvents(pod, func(e *v1.Event) bool { return e.Type == kind && e.Reason == reason })
}
