package grow

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/lifepod/lifepod/cluster/e2e/instance"
	"github.com/lifepod/lifepod/cluster/e2e/neighbour"
	"github.com/lifepod/lifepod/e2e/cable"
	"github.com/lifepod/lifepod/e2e/machine"
	"github.com/lifepod/lifepod/internal/assert"
)

// Addresses of the other machine and of this one on the cable between them, from
// the range for tests of networks (RFC 2544).
const near, far = "198.18.75.1", "198.18.75.2"

// patience is how long a whole test may take.
var patience = 4 * machine.Patience

// mover prefers the other machine, and leaves one that is cut off at once.
const mover = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: mover}
spec:
  selector: {matchLabels: {app: mover}}
  template:
    metadata: {labels: {app: mover}}
    spec:
      terminationGracePeriodSeconds: 1
      affinity:
        nodeAffinity:
          preferredDuringSchedulingIgnoredDuringExecution:
          - weight: 100
            preference: {matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [n2]}]}
      tolerations:
      - {key: node.kubernetes.io/unreachable, operator: Exists, effect: NoExecute, tolerationSeconds: 0}
      containers:
      - {name: c, image: lifepod.dev/toolbox:1, command: [sh, -c, "echo here; sleep 100000"], resources: {limits: {memory: 32Mi}}}
`

// TestGrow: a second machine joins by a token, which nobody sees, runs pods that reach
// those of the first and are reached, is cut
// off, loses them, comes back, and goes on without the token.
func TestGrow(t *testing.T) {
	ctx := assert.Context(t, patience)
	m := neighbour.New(t, neighbour.Config{Cable: "lpgrow0", Near: near, Far: far}) // first: the cluster listens on the cable
	c, client := startCluster(t, "--node-monitor-grace-period", "20s")
	token, file := m.Joins(ctx, c, instance.Configuration+"maxPods: 23\n")
	joined := awaitReady(ctx, t, client, v1.ConditionTrue)
	unseen(t, m, token)
	assert.Deep(t, "the node has", "23 pods, port 10350", configured(ctx, t, client))

	assert.Must(t, assert.ErrorOf(c.Kubectl(ctx, mover, "apply", "-f", "-")))
	first := awaitPod(ctx, t, client, "n2")
	machine.Until(t, "what the pod says", func() bool { // through the API server, which verifies the node
		out, err := c.Kubectl(ctx, "", "logs", first)
		return err == nil && out == "here\n"
	})

	talk(ctx, t, c)
	confined(ctx, t, c)

	assert.Must(t, m.Plug(false))
	awaitReady(ctx, t, client, v1.ConditionUnknown)
	assert.True(t, awaitPod(ctx, t, client, instance.Node) != first, "pod %s is on both nodes", first)
	assert.Must(t, m.Plug(true))
	back := awaitReady(ctx, t, client, v1.ConditionTrue)
	assert.True(t, back == joined, "another Node came back: %s, was %s", back, joined)
	machine.Until(t, "the end of the pod that was moved", func() bool {
		_, err := client.CoreV1().Pods("default").Get(ctx, first, metav1.GetOptions{})
		return err != nil
	})

	talk(ctx, t, c) // the routes are back, too

	assert.Must(t, assert.ErrorOf(c.Kubectl(ctx, caller, "apply", "-f", "-")))
	awaitCaller(ctx, t, client, 0)
	m.Join.End() // pods run on
	// It goes on as the same node, though the machine has another name.
	m.Again("--config", file)
	machine.Until(t, "the node after a restart", func() bool { return strings.Count(m.Join.Story(), `msg="node registered" node=n2 new=false`) == 1 })
	awaitCaller(ctx, t, client, 0)
	m.Down()
	m.Again("--config", file)
	awaitCaller(ctx, t, client, 1) // it began anew, and found the API server at once
}

// caller needs the API server's Service to begin.
const caller = `
apiVersion: v1
kind: Pod
metadata: {name: caller}
spec:
  nodeName: n2
  terminationGracePeriodSeconds: 1
  containers:
  - {name: c, image: lifepod.dev/toolbox:1,
     command: [sh, -c, 'dial --timeout 1s "$KUBERNETES_SERVICE_HOST:$KUBERNETES_SERVICE_PORT" && exec sleep --on-term 0 1h'],
     resources: {limits: {memory: 32Mi}}}
`

// awaitCaller returns when the caller is ready again; so often was it restarted.
func awaitCaller(ctx context.Context, t *testing.T, client kubernetes.Interface, restarts int32) {
	t.Helper()
	var pod *v1.Pod
	machine.Until(t, fmt.Sprintf("the caller after %d restarts", restarts), func() (ready bool) {
		var err error
		pod, err = client.CoreV1().Pods("default").Get(ctx, "caller", metav1.GetOptions{})
		if err != nil || len(pod.Status.ContainerStatuses) == 0 {
			return false
		}
		c := pod.Status.ContainerStatuses[0]
		return c.Ready && c.RestartCount >= restarts
	})
	if c := pod.Status.ContainerStatuses[0]; c.RestartCount != restarts {
		t.Errorf("the caller was restarted %d times, want %d: it ended with %+v", c.RestartCount, restarts, c.LastTerminationState.Terminated)
	}
}

// configured says what the node n2 has of its own configuration: pods, port.
func configured(ctx context.Context, t *testing.T, client kubernetes.Interface) string {
	t.Helper()
	node := assert.Get(client.CoreV1().Nodes().Get(ctx, "n2", metav1.GetOptions{})).Must(t)
	return fmt.Sprintf("%d pods, port %d", node.Status.Capacity.Pods().Value(), node.Status.DaemonEndpoints.KubeletEndpoint.Port)
}

// startCluster starts one that listens on the cable. It ends with the test.
func startCluster(t *testing.T, args ...string) (*instance.Instance, kubernetes.Interface) {
	t.Helper()
	c := instance.New(t, instance.Config{Args: append([]string{"--listen", cable.FreePort(t, near)}, args...)})
	client := assert.Get(c.Client()).Must(t)
	return c, client
}

// unseen says that nobody on the machine can find the token any more.
func unseen(t *testing.T, m *neighbour.Neighbour, token string) {
	t.Helper()
	proc := filepath.Join("/proc", strconv.Itoa(m.Join.PID()))
	for _, file := range []string{"cmdline", "environ"} {
		text := assert.Get(os.ReadFile(filepath.Join(proc, file))).Must(t)
		assert.True(t, !strings.Contains(string(text), token), "the token is in %s", file)
	}
	assert.True(t, !strings.Contains(m.Join.Story(), token), "the token is in the log")
	assert.Must(t, filepath.WalkDir(filepath.Join(m.Root, "join"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		assert.True(t, !strings.Contains(string(text), token), "the token is in %s", path)
		return err
	}))
}

// awaitReady waits for the other node's condition and returns its UID.
func awaitReady(ctx context.Context, t *testing.T, client kubernetes.Interface, want v1.ConditionStatus) (uid string) {
	t.Helper()
	machine.Until(t, "node n2 with Ready "+string(want), func() bool {
		node, err := client.CoreV1().Nodes().Get(ctx, "n2", metav1.GetOptions{})
		if err != nil {
			return false
		}
		uid = string(node.UID)
		// The scheduler goes by the taints, which follow the condition.
		return machine.NodeReady(node).Status == want && (want == v1.ConditionTrue) == (len(node.Spec.Taints) == 0)
	})
	return uid
}

// awaitPod waits for a pod that runs on a node and is to stay there.
func awaitPod(ctx context.Context, t *testing.T, client kubernetes.Interface, node string) (name string) {
	t.Helper()
	machine.Until(t, "a pod on "+node, func() bool {
		pods, err := client.CoreV1().Pods("default").List(ctx, metav1.ListOptions{LabelSelector: "app=mover"})
		if err != nil {
			return false
		}
		for _, pod := range pods.Items {
			if pod.Spec.NodeName == node && pod.Status.Phase == v1.PodRunning && pod.DeletionTimestamp == nil {
				name = pod.Name
				return true
			}
		}
		return false
	})
	return name
}
