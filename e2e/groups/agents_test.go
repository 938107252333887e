package groups

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/e2e/member"
	"github.com/lifepod/lifepod/internal/assert"
)

// TestAgentsInPods: JobSet's example with an agent in each pod, and no annotation of lifepod's, does on nodes of lifepod
// what it does on one of the kubelet: to lifepod these are pods like any other (B-GRP-1).
func TestAgentsInPods(t *testing.T) {
	served := serveAgents(t)
	t.Run("lifepod", func(t *testing.T) { newAgentGroup(t, served, nodes...).restarts() })
	t.Run("kubelet", func(t *testing.T) { newAgentGroup(t, served, startKubelet(t)).restarts() })
}

// startKubelet starts a node of the kubelet, which is gone when the test has ended: other tests are of lifepod's alone.
func startKubelet(t *testing.T) *member.Member {
	t.Helper()
	kubelet := plane.Binary("kubelet")
	_, err := os.Stat(kubelet)
	assert.Require(t, err == nil, "%v: run `make kubelet` first", err)
	runtime := assert.Get(member.StartRuntime(t.Context(), binary)).Must(t)
	assert.AtEnd(t, runtime.Close)
	node := assert.Get(member.Start(t.Context(), member.Config{
		Plane: plane, Program: kubelet, Kubelet: map[string]any{"containerRuntimeEndpoint": runtime.Endpoint()},
	})).Must(t)
	assert.AtEnd(t, func() error {
		return errors.Join(node.Close(), client.CoreV1().Nodes().Delete(context.Background(), node.Name, metav1.DeleteOptions{}))
	})
	assert.Must(t, node.AwaitReady(t.Context()))
	return node
}

// agentGroup is a JobSet whose pods have an agent, on some nodes only.
type agentGroup struct{ *groupOf }

func newAgentGroup(t *testing.T, served agents, on ...*member.Member) agentGroup {
	t.Helper()
	j := agentGroup{newGroup(t)}
	j.allowAgents()
	var names []string
	for _, node := range on {
		names = append(names, node.Name)
	}
	text := served.into(t, strings.NewReplacer("STRATEGY", "InPlaceRestart", "DIR", j.dir).Replace(manifest), names)
	t.Cleanup(func() {
		if t.Failed() {
			j.showAgents(on)
		}
	})
	j.kubectlWith(text, "apply", "--filename=-")
	return j
}

// showAgents logs the end of what the agents and the nodes say.
func (j agentGroup) showAgents(on []*member.Member) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	logs, err := plane.Kubectl(ctx, "", "--namespace", j.namespace, "logs", "--selector=jobset.sigs.k8s.io/jobset-name=train",
		"--container=agent", "--prefix", "--tail=15")
	j.Logf("the agents (%v):\n%s", err, logs)
	for _, node := range on {
		j.Logf("the end of the log of %s:\n%s", node.Name, node.Process().LastLines(40))
	}
}

// restarts has a worker exit, and then deletes a pod.
func (j agentGroup) restarts() {
	j.Helper()
	before := j.awaitInstances(0, nil)
	j.awaitRuns(workers)

	j.Log("one exits: all restart in place")
	began := time.Now()
	j.fail(before[0])
	after := j.awaitInstances(1, before)
	j.Logf("one was told to exit: all run again after %v", time.Since(began).Round(time.Millisecond))
	j.wantInPlace(before, after, workers)
	j.wantRestarts(after, 1)
	j.wantAgentRestarts(after, 1)
	j.wantStatus("1 0")
	j.awaitRuns(2 * workers)

	j.Log("one is deleted: it is created again, and the others restart in place")
	began = time.Now()
	gone := after[1]
	j.kubectl("delete", "pod", gone.Name, "--wait=false")
	last := j.awaitInstances(2, slices.DeleteFunc(slices.Clone(after), func(p v1.Pod) bool { return p.UID == gone.UID }))
	j.Logf("one was deleted: all run again after %v", time.Since(began).Round(time.Millisecond))
	assert.True(j, !has(last, gone.UID), "%s, which was deleted, still runs", gone.Name)
	j.wantInPlace(before, last, workers-1)
	j.wantStatus("2 1")
	j.awaitRuns(3 * workers)
}

// awaitInstances waits until all pods run in an attempt. The pods before, which are of the attempt before, have to have
// another instance of the worker: an agent tells its attempt by itself, maybe before the node has reported anything.
func (j agentGroup) awaitInstances(attempt int, before []v1.Pod) []v1.Pod {
	j.Helper()
	old := map[types.UID]string{}
	for i := range before {
		old[before[i].UID] = before[i].Status.ContainerStatuses[0].ContainerID
	}
	return j.await(fmt.Sprintf("to run in attempt %d with another worker", attempt), func(pods []v1.Pod) bool {
		return inAttempt(pods, attempt) && !slices.ContainsFunc(pods, func(p v1.Pod) bool {
			return p.Status.ContainerStatuses[0].ContainerID == old[p.UID]
		})
	})
}

// wantAgentRestarts: each agent has restarted that often.
func (j agentGroup) wantAgentRestarts(pods []v1.Pod, want int32) {
	j.Helper()
	for i := range pods {
		assert.Deep(j, fmt.Sprintf("the agent of %s: restartCount", pods[i].Name), want, pods[i].Status.InitContainerStatuses[0].RestartCount)
	}
}
