package simulated

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/lifepod/lifepod/cri/crifake"
	"github.com/lifepod/lifepod/e2e/machine"
	"github.com/lifepod/lifepod/e2e/member"
	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/sim/live"
	"github.com/lifepod/lifepod/sim/scenario/file"
)

// Upstream's kubelet runs 200 pods on the runtime without containers: they become Ready when the
// scenario says so, and when they are deleted nothing is left of them.
func TestKubeletRuns200Pods(t *testing.T) {
	const pods = 200
	socket, runtime := serveRuntime(t)
	client := admin(t)
	node := startMember(t, client, member.Config{
		Plane: plane, Program: plane.Binary("kubelet"),
		Kubelet: map[string]any{"containerRuntimeEndpoint": socket, "maxPods": pods + 10, "kubeAPIQPS": 500, "kubeAPIBurst": 1000, "registryPullQPS": 0},
	})
	ns := namespace(t, client)
	began := time.Now()
	for i := range pods {
		create(t, client, ns, podOf(fmt.Sprintf("p%d", i), node.Name))
	}
	awaitAll(t, client, ns, "Ready", pods, machine.IsReady)
	t.Logf("%d pods are Ready %v after the first was created", pods, time.Since(began).Round(100*time.Millisecond))
	began = time.Now()
	assert.Must(t, client.CoreV1().Pods(ns).DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}))
	awaitAll(t, client, ns, "left", 0, func(*v1.Pod) bool { return true })
	t.Logf("all are gone %v after they were deleted", time.Since(began).Round(100*time.Millisecond))
	left := runtime.Running()
	assert.True(t, left == 0, "the runtime has %d containers that run", left)
}

// startMember starts a node whose Node is Ready. The test's end ends it, and deletes the Node.
func startMember(t *testing.T, client kubernetes.Interface, config member.Config) *member.Member {
	t.Helper()
	node := assert.Get(member.Start(t.Context(), config)).Must(t)
	assert.AtEnd(t, func() error {
		return errors.Join(node.Close(), client.CoreV1().Nodes().Delete(context.Background(), node.Name, metav1.DeleteOptions{}))
	})
	assert.Must(t, node.AwaitReady(t.Context()))
	return node
}

// serveRuntime serves a runtime without containers until the test ends, on which pods become Ready after a second.
func serveRuntime(t *testing.T) (socket string, runtime *crifake.Runtime) {
	t.Helper()
	scenarios := assert.Get(file.ScenariosOf(file.Named{Scenario: scenarioOf(t, "containers: {main: {runs: [{ready: 1s}]}}")})).Must(t)
	runtime = assert.Get(live.NewRuntime(live.EndpointOptions{Scenarios: scenarios, Images: t.TempDir()})).Must(t)
	socket = "unix://" + filepath.Join(t.TempDir(), "cri.sock")
	listener := assert.Get(live.Listen(socket)).Must(t)
	ctx, cancel := context.WithCancel(context.Background())
	var serving sync.WaitGroup
	serving.Go(func() {
		assert.NoError(t, live.Serve(ctx, listener, runtime))
	})
	t.Cleanup(func() {
		cancel()
		serving.Wait()
	})
	return socket, runtime
}
