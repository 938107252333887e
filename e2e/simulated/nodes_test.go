package simulated

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/lifepod/lifepod/e2e/machine"
	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/sim/live"
	"github.com/lifepod/lifepod/sim/nodes"
	"github.com/lifepod/lifepod/sim/scenario/file"
)

// join adds nodes to the cluster until the test ends.
func join(t *testing.T, client kubernetes.Interface, o nodes.Options) {
	t.Helper()
	o.API, o.Log = plane.RESTConfig(), slog.New(slog.DiscardHandler)
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	ready := make(chan struct{})
	running.Go(func() {
		assert.NoError(t, nodes.Run(ctx, o, func() { close(ready) }))
	})
	t.Cleanup(func() {
		cancel()
		running.Wait()
		assert.NoError(t, removeNodes(client))
	})
	select {
	case <-ready:
	case <-time.After(patience):
		t.Fatal("the nodes are not known")
	}
}

// Simulated nodes are members of the cluster, in one process: the scheduler finds them, pods
// become Ready on them, crash and are restarted as the scenario says, and go when they are
// deleted.
func TestSimulatedNodes(t *testing.T) {
	const count, pods = 20, 200
	scenarios := assert.Get(file.ScenariosOf(
		file.Named{Scenario: scenarioOf(t, "containers: {main: {runs: [{ready: 500ms}]}}")},
		file.Named{Name: "crash", Scenario: scenarioOf(t, "containers: {main: {runs: [{run: 1s, exit: 3}, {run: forever}]}}")},
	)).Must(t)
	client := admin(t)
	join(t, client, nodes.Options{Count: count, Pods: &live.Pods{Scenarios: scenarios}})
	lease, err := client.CoordinationV1().Leases(v1.NamespaceNodeLease).Get(t.Context(), "sim-0", metav1.GetOptions{})
	assert.True(t, err == nil && len(lease.OwnerReferences) == 1 && lease.OwnerReferences[0].Name == "sim-0",
		"the Lease of sim-0: %+v, %v", lease, err)

	ns := namespace(t, client)
	began := time.Now()
	for i := range pods {
		pod := podOf(fmt.Sprintf("p%d", i), "") // the scheduler says where
		pod.Spec.NodeSelector = map[string]string{nodes.SimulatedLabel: "true"}
		if i == 0 {
			pod.Annotations = map[string]string{file.Annotation: "crash"}
		}
		create(t, client, ns, pod)
	}
	awaitAll(t, client, ns, "Ready, the one that crashes after a restart", pods, func(pod *v1.Pod) bool {
		return machine.IsReady(pod) && (pod.Name != "p0" || crashed(pod))
	})
	t.Logf("%d pods on %d nodes are Ready %v after the first was created", pods, count, time.Since(began).Round(100*time.Millisecond))
	addresses := map[string]bool{}
	list := assert.Get(client.CoreV1().Pods(ns).List(t.Context(), metav1.ListOptions{})).Must(t)
	for _, pod := range list.Items {
		addresses[pod.Status.PodIP] = true
	}
	assert.True(t, len(addresses) == pods, "%d pods have %d addresses", pods, len(addresses))
	deleteAll(t, client, ns)
}

// crashed says that a pod has been restarted once, after exit code 3.
func crashed(pod *v1.Pod) bool {
	c := pod.Status.ContainerStatuses[0]
	return c.RestartCount == 1 && c.LastTerminationState.Terminated != nil && c.LastTerminationState.Terminated.ExitCode == 3
}

func deleteAll(t *testing.T, client kubernetes.Interface, ns string) {
	t.Helper()
	assert.Must(t, client.CoreV1().Pods(ns).DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}))
	awaitAll(t, client, ns, "left", 0, func(*v1.Pod) bool { return true })
}

// A pod that names a scenario that there is none of says so.
func TestUnknownScenario(t *testing.T) {
	client := admin(t)
	join(t, client, nodes.Options{Count: 1, Prefix: "other-", Pods: &live.Pods{}})
	ns := namespace(t, client)
	pod := podOf("p", "other-0")
	pod.Annotations = map[string]string{file.Annotation: "absent"}
	create(t, client, ns, pod)
	var events *v1.EventList
	machine.Until(t, "an event", func() (is bool) {
		events = assert.Get(client.CoreV1().Events(ns).List(t.Context(), metav1.ListOptions{FieldSelector: "reason=FailedCreatePodSandBox"})).Must(t)
		return len(events.Items) > 0
	})
	const want = `annotation lifepod.dev/scenario: there is no scenario "absent"`
	got := events.Items[0].Message
	assert.True(t, strings.Contains(got, want), "the event says %q, want %q", got, want)
	deleteAll(t, client, ns)
}
