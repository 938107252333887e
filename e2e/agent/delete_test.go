package agent

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifepod/lifepod/internal/assert"
)

// stubborn is a pod that does not end by itself, polite one that does so at once.
const (
	stubborn = `
metadata: {name: pod}
spec:
  terminationGracePeriodSeconds: 600
  containers:
  - {name: main, image: TOOLBOX, command: [sleep, --ignore-term, "3600"], resources: {limits: {memory: 64Mi}}}
`
	polite = `
metadata: {name: pod}
spec:
  terminationGracePeriodSeconds: 60
  containers:
  - {name: main, image: TOOLBOX, command: [sleep, --on-term, "7", "3600"], resources: {limits: {memory: 64Mi}}}
`
)

// TestDelete: every way to delete a pod ends its container as asked, before its object goes
// (B-DEL-11).
func TestDelete(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, manifest string
		flags          [][]string // of each deletion
		want           string
	}{
		{"with its own grace", polite, [][]string{{}}, "phase Failed, exit code 7"},
		{"with a grace", stubborn, [][]string{{"--grace-period=1"}}, "phase Failed, exit code 137"},
		{"now", stubborn, [][]string{{"--now"}}, "phase Failed, exit code 137"},
		{"twice", stubborn, [][]string{{"--wait=false"}, {"--grace-period=1"}}, "phase Failed, exit code 137"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, shared)
			c.create(test.manifest)
			pod := c.awaitReady("pod")
			for _, flags := range test.flags {
				c.kubectl(append([]string{"delete", "pod", "pod"}, flags...)...)
			}
			last := c.untilDeleted(pod)
			end := last.Status.ContainerStatuses[0].State.Terminated
			if end == nil {
				t.Fatalf("the container had not ended when the object went:\n%s", summary([]v1.Pod{*last}))
			}
			got := fmt.Sprintf("phase %s, exit code %d", last.Status.Phase, end.ExitCode)
			assert.Deep(t, "end of the pod", test.want, got)
		})
	}
}

// TestDeleteByForce: the object goes at once, and the container soon after.
func TestDeleteByForce(t *testing.T) {
	t.Parallel()
	c := newCluster(t, shared)
	c.create(stubborn)
	pod := c.awaitReady("pod")
	c.kubectl("delete", "pod", "pod", "--force", "--grace-period=0", "--wait=false")
	last := c.untilDeleted(pod)
	assert.True(t, last.Status.Phase == v1.PodRunning, "phase %s when the object went, want Running: nobody waits", last.Status.Phase)
	c.awaitForgotten(pod)
}

// awaitForgotten waits until the node's machine has nothing of a pod any more.
func (c *cluster) awaitForgotten(pod *v1.Pod) {
	c.t.Helper()
	ctx := assert.Context(c.t, patience)
	for {
		left := slices.DeleteFunc(c.node.Root.LeftOfPods(), func(trace string) bool { return !strings.Contains(trace, string(pod.UID)) })
		if len(left) == 0 {
			return
		}
		select {
		case <-ctx.Done():
			c.t.Fatalf("of pod %s there is still\n  %s", pod.Name, strings.Join(left, "\n  "))
		case <-time.After(20 * time.Millisecond): // nothing tells of what is on the machine
		}
	}
}

// TestDeleteWithFinalizer: the container ends, the object stays until the finalizer goes.
func TestDeleteWithFinalizer(t *testing.T) {
	t.Parallel()
	c := newCluster(t, shared)
	c.create(strings.Replace(polite, "{name: pod}", "{name: pod, finalizers: [example.com/hold]}", 1))
	c.awaitReady("pod")
	c.kubectl("delete", "pod", "pod", "--wait=false")
	pod := c.await("pod", "to its end", func(pod *v1.Pod) bool { return pod.Status.Phase == v1.PodFailed })
	c.awaitForgotten(pod)
	c.kubectl("patch", "pod", "pod", "--type=json", `--patch=[{"op":"remove","path":"/metadata/finalizers"}]`)
	c.untilDeleted(pod)
}

// TestDeleteWhatNeverStarted: nothing holds up the end of a pod that waits (B-DEL-12).
func TestDeleteWhatNeverStarted(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ spec, reason string }{
		"image":  {`containers: [{name: main, image: lifepod.dev/no-such:1, imagePullPolicy: Never}]`, "ErrImageNeverPull"},
		"volume": {`{containers: [{name: main, image: TOOLBOX, volumeMounts: [{name: v, mountPath: /v}]}], volumes: [{name: v, secret: {secretName: no-such}}]}`, "ContainerCreating"},
		"env":    {`containers: [{name: main, image: TOOLBOX, envFrom: [{configMapRef: {name: no-such}}]}]`, "CreateContainerConfigError"},
		"folder": {`{containers: [{name: main, image: TOOLBOX, volumeMounts: [{name: v, mountPath: /v}]}], volumes: [{name: v, hostPath: {path: /no/such, type: Directory}}]}`, "ContainerCreating"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, shared)
			c.create("metadata: {name: pod}\nspec: " + strings.Replace(test.spec, "containers:", "\n  containers:", 1))
			pod := c.await("pod", "to wait", func(pod *v1.Pod) bool {
				s := pod.Status.ContainerStatuses
				return len(s) == 1 && s[0].State.Waiting != nil && s[0].State.Waiting.Reason == test.reason
			})
			assert.Must(t, client.CoreV1().Pods(c.namespace).Delete(t.Context(), "pod", metav1.DeleteOptions{}))
			c.untilDeleted(pod)
			c.awaitForgotten(pod)
		})
	}
}
