package simulated

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/lifepod/lifepod/e2e/jobset"
	"github.com/lifepod/lifepod/e2e/machine"
	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/sim/live"
	"github.com/lifepod/lifepod/sim/nodes"
	"github.com/lifepod/lifepod/sim/scenario/file"
)

// members is how many pods the JobSet of the test has.
const members = 24

const trainManifest = `
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: train}
spec:
  failurePolicy: {maxRestarts: 10, restartStrategy: InPlaceRestart}
  replicatedJobs:
  - name: workers
    replicas: 2
    template:
      spec:
        backoffLimit: 2147483647
        podReplacementPolicy: Failed
        completions: 12
        parallelism: 12
        template:
          metadata: {annotations: {lifepod.dev/group: jobset}}
          spec:
            restartPolicy: Never
            terminationGracePeriodSeconds: 1
            nodeSelector: {lifepod.dev/simulated: "true"}
            containers:
            - name: worker
              image: lifepod.dev/toolbox:1
              restartPolicy: Never
              restartPolicyRules:
              - action: RestartAllContainers
                exitCodes: {operator: NotIn, values: [0]}
`

// A JobSet on simulated nodes restarts in place as one, with the real controller: all nodes of the
// process watch JobSets together.
func TestSimulatedGroup(t *testing.T) {
	controller := assert.Get(jobset.Start(t.Context(), jobset.Config{Plane: plane, Dir: t.TempDir()})).Must(t)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the JobSet controller:\n%s", controller.LastLines(20))
		}
		assert.NoError(t, controller.Close())
	})
	client := admin(t)
	ns := namespace(t, client)
	scenarios := assert.Get(file.ScenariosOf(
		file.Named{Scenario: scenarioOf(t, "containers: {worker: {runs: [{run: forever}]}}")},
		file.Named{Name: ns + "/train-workers-0-3-*", Scenario: scenarioOf(t, "containers: {worker: {runs: [{run: 2s, exit: 3}, {run: forever}]}}")},
	)).Must(t)
	join(t, client, nodes.Options{Count: 6, Prefix: "group-", Pods: &live.Pods{Scenarios: scenarios}})
	seen := follow(t, client, ns)
	assert.Must(t, assert.ErrorOf(plane.Kubectl(t.Context(), trainManifest, "--namespace", ns, "apply", "--filename=-")))
	awaitAll(t, client, ns, "running in attempt 1", members, func(pod *v1.Pod) bool {
		return runsIn(pod, "1") && pod.Status.ContainerStatuses[0].RestartCount == 1
	})
	machine.Until(t, "the watch to show it", func() bool { return seen.all("1") })
	seen.check(t)
	status, err := plane.Kubectl(t.Context(), "", "--namespace", ns, "get", "jobset", "train",
		"--output=jsonpath={.status.currentInPlaceRestartAttempt} {.status.previousInPlaceRestartAttempt}")
	assert.True(t, err == nil && status == "1 0", "the JobSet has %q, %v", status, err)
	for _, what := range [][]string{{"jobset", "train", "--cascade=orphan"}, {"jobs", "--all"}} { // the collector of garbage hears of JobSets late
		assert.NoError(t, assert.ErrorOf(plane.Kubectl(t.Context(), "", append([]string{"--namespace", ns, "delete"}, what...)...)))
	}
	deleteAll(t, client, ns)
}

// TestSimulatedMembers: plain pods on simulated nodes are a group by their label and annotations, and restart as one, without
// a JobSet (B-GRP-17, B-GRP-24).
func TestSimulatedMembers(t *testing.T) {
	const size = 6
	client := admin(t)
	ns := namespace(t, client)
	scenarios := assert.Get(file.ScenariosOf(
		file.Named{Scenario: scenarioOf(t, "containers: {worker: {runs: [{run: forever}]}}")},
		file.Named{Name: ns + "/p4", Scenario: scenarioOf(t, "containers: {worker: {runs: [{run: 3s, exit: 3}, {run: forever}]}}")},
	)).Must(t)
	join(t, client, nodes.Options{Count: 3, Prefix: "members-", Pods: &live.Pods{Scenarios: scenarios}})
	seen := follow(t, client, ns)
	for i := range size - 1 {
		create(t, client, ns, memberPod(i, size))
	}
	awaitAll(t, client, ns, "waiting for the last one", size-1, func(pod *v1.Pod) bool {
		s := pod.Status.ContainerStatuses
		return len(s) == 1 && s[0].State.Waiting != nil && s[0].State.Waiting.Reason == "WaitingForGroup"
	})
	create(t, client, ns, memberPod(size-1, size))
	inAttempt := func(attempt string, restarts int32) func(*v1.Pod) bool {
		return func(pod *v1.Pod) bool {
			return runsIn(pod, attempt) && pod.Status.ContainerStatuses[0].RestartCount == restarts
		}
	}
	awaitAll(t, client, ns, "running in attempt 1, which p4 began", size, inAttempt("1", 1))
	seen.mu.Lock()
	broken := seen.broken
	seen.mu.Unlock()
	for _, what := range broken {
		t.Error(what)
	}

	t.Log("one is created again: the whole group begins the next attempt (B-GRP-20)")
	assert.Must(t, client.CoreV1().Pods(ns).Delete(t.Context(), "p0", metav1.DeleteOptions{}))
	awaitAll(t, client, ns, "left", size-1, func(*v1.Pod) bool { return true })
	create(t, client, ns, memberPod(0, size))
	awaitAll(t, client, ns, "running in attempt 2", size, func(pod *v1.Pod) bool {
		if pod.Name == "p0" {
			return inAttempt("2", 0)(pod)
		}
		return inAttempt("2", 2)(pod)
	})
	deleteAll(t, client, ns)
}

// memberPod is the pod of a group without a JobSet.
func memberPod(i, size int) *v1.Pod {
	never := v1.ContainerRestartPolicyNever
	pod := podOf(fmt.Sprintf("p%d", i), fmt.Sprintf("members-%d", i%3))
	pod.Labels = map[string]string{lifecycle.GroupNameLabel: "train"}
	pod.Annotations = map[string]string{lifecycle.GroupAnnotation: lifecycle.LedByMembers, lifecycle.GroupSizeAnnotation: strconv.Itoa(size)}
	pod.Spec.RestartPolicy = v1.RestartPolicyNever
	pod.Spec.Containers = []v1.Container{{
		Name: "worker", Image: "lifepod.dev/toolbox:1", RestartPolicy: &never,
		RestartPolicyRules: []v1.ContainerRestartRule{{
			Action:    v1.ContainerRestartRuleActionRestartAllContainers,
			ExitCodes: &v1.ContainerRestartRuleOnExitCodes{Operator: v1.ContainerRestartRuleOnExitCodesOpNotIn, Values: []int32{0}},
		}},
	}}
	return pod
}

// runsIn says whether a pod's container runs in an attempt.
func runsIn(pod *v1.Pod, attempt string) bool {
	s := pod.Status.ContainerStatuses
	return attemptOf(pod) == attempt && len(s) == 1 && s[0].State.Running != nil && machine.IsReady(pod)
}

// restarts is how often a pod's container was restarted.
func restarts(pod *v1.Pod) (count int32) {
	for _, s := range pod.Status.ContainerStatuses {
		count += s.RestartCount
	}
	return count
}

// attemptOf is the attempt that a pod of a JobSet, or of a group without one, has reported.
func attemptOf(pod *v1.Pod) string {
	attempt, _, _ := strings.Cut(pod.Annotations[lifecycle.MemberAttemptAnnotation], ".")
	return cmp.Or(pod.Annotations[lifecycle.AttemptAnnotation], attempt)
}

// history is what a watch shows of pods.
type history struct {
	mu     sync.Mutex
	now    map[string]*v1.Pod
	writes map[string]int // by pod: since it has run in attempt 0
	broken []string
}

// follow watches the pods of a namespace until the test ends.
func follow(t *testing.T, client kubernetes.Interface, ns string) *history {
	t.Helper()
	h := &history{now: map[string]*v1.Pod{}, writes: map[string]int{}}
	ctx, cancel := context.WithCancel(t.Context())
	var following sync.WaitGroup
	following.Go(func() {
		var options metav1.ListOptions
		for ctx.Err() == nil { // the API server ends a watch that can't follow
			watch, err := client.CoreV1().Pods(ns).Watch(ctx, options)
			if err != nil {
				continue
			}
			for e := range watch.ResultChan() {
				if pod, is := e.Object.(*v1.Pod); is {
					options.ResourceVersion = pod.ResourceVersion
					h.shows(pod)
				}
			}
		}
	})
	t.Cleanup(func() { cancel(); following.Wait() })
	return h
}

func (h *history) shows(pod *v1.Pod) {
	h.mu.Lock()
	defer h.mu.Unlock()
	before := h.now[pod.Name]
	h.now[pod.Name] = pod
	if before == nil || pod.DeletionTimestamp != nil {
		return
	}
	if runsIn(before, "0") || h.writes[pod.Name] > 0 {
		h.writes[pod.Name]++
	}
	attempt := attemptOf(pod)
	if attempt != attemptOf(before) {
		if s := pod.Status.ContainerStatuses; len(s) > 0 && s[0].State.Running != nil && restarts(pod) == restarts(before) { // else one status tells of all (A-STAT-12)
			h.broken = append(h.broken, fmt.Sprintf("B-GRP-3: %s tells attempt %s and still runs", pod.Name, attempt))
		}
		if attempt != "0" && before.UID == pod.UID && before.Status.PodIP != pod.Status.PodIP {
			h.broken = append(h.broken, fmt.Sprintf("%s had the address %s and has %s", pod.Name, before.Status.PodIP, pod.Status.PodIP))
		}
	}
	if _, late := pod.Annotations[lifecycle.MemberAttemptAnnotation]; late || !runsIn(pod, attempt) { // late: B-GRP-26
		return
	}
	for _, other := range h.now {
		if in := attemptOf(other); in != attempt && runsIn(other, in) {
			h.broken = append(h.broken, fmt.Sprintf("B-GRP-12: %s runs in attempt %s and %s in %s", pod.Name, attempt, other.Name, in))
		}
	}
}

func (h *history) all(attempt string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, pod := range h.now {
		if !runsIn(pod, attempt) {
			return false
		}
	}
	return len(h.now) == members
}

// check holds what was seen against what has to be.
func (h *history) check(t *testing.T) {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	assert.True(t, len(h.broken) == 0, "%s", strings.Join(h.broken, "\n"))
	assert.Deep(t, "pods have restarted", members, len(h.writes))
	for name, n := range h.writes {
		assert.True(t, n <= mostWrites, "the status of %s was written %d times for one restart", name, n)
	}
}

// mostWrites are of one pod in one restart: it begins, nothing of the last attempt runs, it waits for its
// group for longer than progress waits to be told, it runs.
const mostWrites = 4
