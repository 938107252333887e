package simulated

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/lifepodtest"
	"github.com/lifepod/lifepod/sim/live"
	"github.com/lifepod/lifepod/sim/nodes"
	"github.com/lifepod/lifepod/sim/scenario/file"
)

// Pods live sixty times as fast: five restarts of a crashing container, whose back-offs are 150s, take seconds. What the API
// server is told is what it is told in real time, and when it was.
func TestSpeed(t *testing.T) {
	scenarios := assert.Get(file.ScenariosOf(file.Named{Scenario: scenarioOf(t, "containers: {main: {runs: [{run: 1s, exit: 3}]}}")})).Must(t)
	client := admin(t)
	join(t, client, nodes.Options{Count: 1, Prefix: "fast-", Time: nodes.Time{Speed: 60}, Pods: &live.Pods{Scenarios: scenarios}})
	ns := namespace(t, client)
	began := time.Now().Truncate(time.Second) // as the API has times
	seen := watched(t, client, ns)
	pod := podOf("crash", "fast-0")
	pod.Spec.Containers[0].ReadinessProbe = nil
	create(t, client, ns, pod)
	restarts, backOffs := int32(0), []string{}
	for pod := range seen {
		for _, at := range timesOf(pod) {
			assert.True(t, !at.Before(began) && !at.After(time.Now()), "a time is %v, want one since %v: %+v", at, began, pod.Status)
		}
		if len(pod.Status.ContainerStatuses) == 0 {
			continue
		}
		c := pod.Status.ContainerStatuses[0]
		assert.True(t, c.RestartCount >= restarts, "%d restarts come after %d", c.RestartCount, restarts)
		if waiting := c.State.Waiting; waiting != nil && waiting.Reason == "CrashLoopBackOff" {
			backOffs = append(backOffs, strings.Fields(waiting.Message)[1])
		}
		ended := c.LastTerminationState.Terminated
		assert.True(t, ended == nil || ended.Reason == "Error" && ended.ExitCode == 3 && !ended.FinishedAt.Before(&ended.StartedAt),
			"it has ended as %+v", ended)
		if restarts = c.RestartCount; restarts >= 5 {
			break
		}
	}
	took := time.Since(began)
	t.Logf("five restarts took %v, with back-offs of %v", took.Round(100*time.Millisecond), backOffs)
	assert.True(t, restarts == 5 && took <= time.Minute, "%d restarts in %v, want 5 in seconds", restarts, took)
	order := []string{"10s", "20s", "40s", "1m20s"} // of which short ones may be over before they are told
	inOrder := slices.IsSortedFunc(backOffs, func(a, b string) int { return slices.Index(order, a) - slices.Index(order, b) })
	assert.True(t, inOrder && slices.Contains(backOffs, "1m20s"), "the back-offs are %v, want those of %v in order", backOffs, order)
	events := assert.Get(client.CoreV1().Events(ns).List(t.Context(), metav1.ListOptions{})).Must(t)
	for _, e := range events.Items {
		assert.True(t, !e.FirstTimestamp.Time.Before(began) && !e.LastTimestamp.Time.After(time.Now()),
			"an event was at %v and %v: %s", e.FirstTimestamp, e.LastTimestamp, e.Message)
	}
	deleteAll(t, client, ns)
}

// watched are the pods of a namespace at each change, until the test ends.
func watched(t *testing.T, client kubernetes.Interface, ns string) <-chan *v1.Pod {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	watch := assert.Get(client.CoreV1().Pods(ns).Watch(ctx, metav1.ListOptions{})).Must(t)
	pods := make(chan *v1.Pod)
	go func() {
		defer close(pods)
		for event := range watch.ResultChan() {
			select {
			case pods <- event.Object.(*v1.Pod):
			case <-ctx.Done():
				return
			}
		}
	}()
	return pods
}

// timesOf are those that a node has written.
func timesOf(pod *v1.Pod) (list []time.Time) {
	if pod.Status.StartTime != nil {
		list = append(list, pod.Status.StartTime.Time)
	}
	for _, c := range pod.Status.Conditions {
		list = append(list, c.LastTransitionTime.Time)
	}
	for _, c := range pod.Status.ContainerStatuses {
		for _, s := range []v1.ContainerState{c.State, c.LastTerminationState} {
			if s.Running != nil {
				list = append(list, s.Running.StartedAt.Time)
			}
			if s.Terminated != nil {
				list = append(list, s.Terminated.StartedAt.Time, s.Terminated.FinishedAt.Time)
			}
		}
	}
	return slices.DeleteFunc(list, time.Time.IsZero)
}

// A test moves the time of pods on: what is to happen in an hour has happened when Advance returns, and not before.
func TestManualTime(t *testing.T) {
	const kind = "apiVersion: lifepod.dev/v1alpha1\nkind: Scenario\n"
	client := admin(t)
	assert.AtEnd(t, func() error { return removeNodes(client) })
	ns := namespace(t, client)
	simulated := lifepodtest.Start(t, plane.RESTConfig(), lifepodtest.Options{Nodes: 2, Manual: true, Scenarios: map[string]string{
		ns + "/job":   kind + "containers: {main: {runs: [{run: 1h, exit: 0}]}}",
		ns + "/crash": kind + "containers: {main: {runs: [{run: 1s, exit: 3}]}}",
		ns + "/slow":  kind + "containers: {main: {runs: [{run: forever, stop: {ignore: true}}]}}",
	}})
	began := time.Now().Truncate(time.Second)
	for _, name := range []string{"job", "crash", "slow"} {
		pod := podOf(name, "")
		pod.Spec.SchedulerName = "none" // of the cluster
		if name == "job" {
			pod.Spec.RestartPolicy = v1.RestartPolicyNever
		}
		create(t, client, ns, pod)
	}
	after := func(d time.Duration, want map[string]string) {
		t.Helper()
		simulated.Advance(d)
		for name, want := range want {
			pod, err := client.CoreV1().Pods(ns).Get(t.Context(), name, metav1.GetOptions{})
			switch {
			case apierrors.IsNotFound(err):
				pod = &v1.Pod{Status: v1.PodStatus{Phase: "gone"}}
			case err != nil:
				t.Fatal(err)
			}
			got := string(pod.Status.Phase)
			if len(pod.Status.ContainerStatuses) > 0 {
				got += fmt.Sprintf(" %d", pod.Status.ContainerStatuses[0].RestartCount)
			}
			assert.Deep(t, fmt.Sprintf("%v later %s is", d, name), want, got)
			for _, at := range timesOf(pod) {
				assert.True(t, !at.Before(began) && !at.After(time.Now()), "%s has the time %v, want one since %v", name, at, began)
			}
		}
	}
	after(0, map[string]string{"job": "Pending 0", "crash": "Pending 0", "slow": "Pending 0"})
	after(time.Second, map[string]string{"job": "Running 0", "crash": "Running 0", "slow": "Running 0"})
	after(9*time.Second, map[string]string{"job": "Running 0", "crash": "Running 1", "slow": "Running 0"})
	after(time.Hour-10*time.Second, map[string]string{"job": "Running 0", "crash": "Running 16", "slow": "Running 0"})
	after(time.Second, map[string]string{"job": "Succeeded 0"})
	assert.Must(t, client.CoreV1().Pods(ns).Delete(t.Context(), "slow", metav1.DeleteOptions{GracePeriodSeconds: new(int64(600))}))
	after(599*time.Second, map[string]string{"slow": "Running 0"})
	after(2*time.Second, map[string]string{"slow": "gone"})
	if took := time.Since(began); took > 2*time.Minute {
		t.Errorf("more than an hour took %v", took)
	} else {
		t.Logf("more than an hour took %v", took.Round(100*time.Millisecond))
	}
	assert.Must(t, client.CoreV1().Pods(ns).DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}))
	after(time.Minute, map[string]string{"job": "gone", "crash": "gone"})
}
