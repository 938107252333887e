package simulated

import (
	"context"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifepod/lifepod/lifepodtest"
	"github.com/lifepod/lifepod/sim/nodes"
)

// In a cluster without a scheduler of theirs, pods become Ready on the nodes of a test, and one
// crashes as its scenario says.
func TestNodesOfATest(t *testing.T) {
	const crash = `
apiVersion: lifepod.dev/v1alpha1
kind: Scenario
containers:
  main:
    runs: [{run: 1s, exit: 3}, {run: forever}]`
	client := admin(t)
	t.Cleanup(func() {
		selector := metav1.ListOptions{LabelSelector: nodes.SimulatedLabel}
		if err := client.CoreV1().Nodes().DeleteCollection(context.Background(), metav1.DeleteOptions{}, selector); err != nil {
			t.Error(err)
		}
	})
	ns := namespace(t, client)
	lifepodtest.Start(t, plane.RESTConfig(), lifepodtest.Options{Nodes: 3, Scenarios: map[string]string{ns + "/crash-*": crash}})
	for _, name := range []string{"web", "crash-1", "db"} {
		pod := podOf(name, "")
		pod.Spec.SchedulerName = "none" // of the cluster
		if _, err := client.CoreV1().Pods(ns).Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	on := map[string]bool{}
	awaitAll(t, client, ns, "Ready, the one that crashes after a restart", 3, func(pod *v1.Pod) bool {
		on[pod.Spec.NodeName] = true
		return isReady(pod) && (pod.Name != "crash-1" || crashed(pod))
	})
	if delete(on, ""); len(on) != 3 {
		t.Errorf("three pods are on %v, want three nodes", on)
	}
	deleteAll(t, client, ns)
}
