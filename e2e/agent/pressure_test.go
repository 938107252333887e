package agent

import (
	"bufio"
	"fmt"
	"maps"
	"os"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifepod/lifepod/e2e/machine"
	"github.com/lifepod/lifepod/e2e/member"
	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/node/stats"
)

// hog takes memory as fast as it can, up to what is written for AMOUNT, and keeps it.
const hog = `
apiVersion: v1
kind: Pod
metadata: {name: hog}
spec:
  restartPolicy: Never
  containers:
  - {name: main, image: TOOLBOX, command: [eat-memory, "AMOUNT"], resources: {requests: {memory: 16Mi}}}
`

// modest stays below what it requests.
const modest = `
apiVersion: v1
kind: Pod
metadata: {name: modest}
spec:
  restartPolicy: Never
  terminationGracePeriodSeconds: 1
  containers:
  - {name: main, image: TOOLBOX, command: ["sleep", "3600"], resources: {requests: {memory: 64Mi}}}
`

// TestMemoryPressure: a pod that takes memory beyond its request is evicted when the node
// runs short of it, its neighbour lives on, and the Node says so until the time of
// transition is over (B-EVI-5, B-EVI-6, B-EVI-7, B-EVI-9, B-EVI-10).
func TestMemoryPressure(t *testing.T) {
	memory := assert.Get(stats.ReadMemory("/")).Must(t)
	left := memory.Limit - memory.WorkingSet()
	node := nodeUnder(t, fmt.Sprintf("%dMi", left/mebi-1500), nil)
	c := newCluster(t, node)
	c.create(modest)
	c.awaitReady("modest")
	c.create(strings.ReplaceAll(hog, "AMOUNT", "2500Mi"))
	pod := c.await("hog", "to be evicted", func(pod *v1.Pod) bool { return pod.Status.Phase == v1.PodFailed })
	assert.True(t, pod.Status.Reason == "Evicted" && strings.HasPrefix(pod.Status.Message, "The node was low on resource: memory. Threshold quantity: ") &&
		strings.Contains(pod.Status.Message, "Container main was using ") && strings.HasSuffix(pod.Status.Message, ", request is 16Mi, has larger consumption of memory. "), "status %s: %q", pod.Status.Reason, pod.Status.Message)
	target := machine.PodCondition(pod, v1.DisruptionTarget)
	assert.True(t, target.Reason == v1.PodReasonTerminationByKubelet && target.Message == pod.Status.Message, "condition DisruptionTarget %+v", target)
	assert.NoError(t, node.AwaitNode(t.Context(), "to have MemoryPressure", under(v1.NodeMemoryPressure, v1.ConditionTrue)))
	c.wantNodeEvent("EvictionThresholdMet", "Attempting to reclaim memory")
	assert.NoError(t, node.AwaitNode(t.Context(), "to have MemoryPressure no more", under(v1.NodeMemoryPressure, v1.ConditionFalse)))
	c.awaitReady("modest")
	t.Logf("the hog's message: %s", pod.Status.Message)
	logOf(t, node, "evict", "reclaim")
}

// nodeUnder is a node with a hard threshold of memory, and short times of transition.
func nodeUnder(t *testing.T, memory string, more map[string]any) *member.Member {
	t.Helper()
	kubelet := map[string]any{
		"evictionHard":                     map[string]string{"memory.available": memory},
		"enforceNodeAllocatable":           []string{"none"},
		"evictionPressureTransitionPeriod": "5s",
	}
	maps.Copy(kubelet, more)
	return newNode(t, member.Config{Kubelet: kubelet})
}

func under(condition v1.NodeConditionType, want v1.ConditionStatus) func(*v1.Node) bool {
	return func(node *v1.Node) bool {
		for _, c := range node.Status.Conditions {
			if c.Type == condition {
				return c.Status == want
			}
		}
		return false
	}
}

// wantNodeEvent demands that the Node has an event, with its UID (A-EVT-1).
func (c *cluster) wantNodeEvent(reason, message string) {
	c.t.Helper()
	node := assert.Get(client.CoreV1().Nodes().Get(c.t.Context(), c.node.Name, metav1.GetOptions{})).Must(c.t)
	list := assert.Get(client.CoreV1().Events(metav1.NamespaceDefault).List(c.t.Context(), metav1.ListOptions{
		FieldSelector: "involvedObject.kind=Node,involvedObject.name=" + c.node.Name + ",involvedObject.uid=" + string(node.UID) + ",reason=" + reason,
	})).Must(c.t)
	for i := range list.Items {
		if list.Items[i].Message == message && list.Items[i].Type == v1.EventTypeWarning {
			return
		}
	}
	c.t.Errorf("the Node has no event %s: %s", reason, message)
}

// logOf shows the lines of a node's log that have one of the words.
func logOf(t *testing.T, node *member.Member, words ...string) {
	t.Helper()
	file := assert.Get(os.Open(node.LogFile())).Must(t)
	defer func() { _ = file.Close() }() // only read
	for lines := bufio.NewScanner(file); lines.Scan(); {
		for _, word := range words {
			if strings.Contains(lines.Text(), word) {
				t.Log(lines.Text())
				break
			}
		}
	}
}
