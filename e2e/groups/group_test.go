package groups

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	policy "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/lifecycle"
)

// manifest is a JobSet with four workers, half of them on each node. In a folder that they share with the
// test each says every moment that it runs (law_test.go), and looks for what it is to do.
const manifest = `
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: train}
spec:
  failurePolicy: {maxRestarts: 10, restartStrategy: STRATEGY}
  replicatedJobs:
  - name: workers
    replicas: 2
    template:
      spec:
        backoffLimit: 2147483647
        podReplacementPolicy: Failed
        completions: 2
        parallelism: 2
        template:
          metadata: {annotations: {lifepod.dev/group: jobset}}
          spec:
            restartPolicy: Never
            terminationGracePeriodSeconds: 60
            topologySpreadConstraints:
            - {maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: DoNotSchedule,
               labelSelector: {matchLabels: {jobset.sigs.k8s.io/jobset-name: train}}}
            volumes:
            - {name: shared, hostPath: {path: DIR, type: Directory}}
            containers:
            - name: worker
              image: lifepod.dev/toolbox:1
              env:
              - {name: POD, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
              command:
              - sh
              - -c
              - |
                read run < /proc/sys/kernel/random/uuid
                runs() { printf "%s %s\n" "$POD" "$run" >> /shared/log; sleep 0.05; } # echo writes a line in parts
                trap 'while [ -e /shared/slow-$POD ]; do runs; done; exit 143' TERM
                until [ -e /shared/fail-$run -o -e /shared/next-$POD ]; do runs; done
                rm -f /shared/next-$POD
                exit 3
              resources: {limits: {memory: 64Mi}}
              volumeMounts: [{name: shared, mountPath: /shared}]
              restartPolicy: Never
              restartPolicyRules:
              - action: RestartAllContainers
                exitCodes: {operator: NotIn, values: [0]}
`

const workers = 4

// groupOf is a JobSet in a namespace of its own.
type groupOf struct {
	*testing.T
	namespace string
	dir       string // that all workers share with the test
}

func newGroup(t *testing.T) *groupOf {
	t.Helper()
	made := assert.Get(client.CoreV1().Namespaces().Create(t.Context(),
		&v1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}, metav1.CreateOptions{})).Must(t)
	j := &groupOf{T: t, namespace: made.Name, dir: t.TempDir()}
	t.Cleanup(j.end)
	return j
}

// end deletes the JobSet and waits until its pods are gone. The test's own context has ended.
func (j *groupOf) end() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if j.Failed() {
		pods, _ := plane.Kubectl(ctx, "", "--namespace", j.namespace, "get", "pods,jobs,jobsets", "--output=yaml") // what can't be had is not shown
		events, _ := plane.Kubectl(ctx, "", "--namespace", j.namespace, "events")
		j.Logf("%s\n%s\nthe controller:\n%s", events, pods, controller.LastLines(30))
		for _, node := range nodes {
			j.Logf("the end of the log of %s:\n%s", node.Name, node.Process().LastLines(40))
		}
	}
	_, err := plane.Kubectl(ctx, "", "--namespace", j.namespace, "delete", "jobset", "train", "--ignore-not-found", "--cascade=foreground", "--timeout=80s")
	err = errors.Join(err, client.CoreV1().Namespaces().Delete(ctx, j.namespace, metav1.DeleteOptions{}))
	assert.NoError(j, err)
}

func (j *groupOf) kubectl(args ...string) string {
	j.Helper()
	return j.kubectlWith("", args...)
}

func (j *groupOf) kubectlWith(stdin string, args ...string) string {
	j.Helper()
	ctx := assert.Context(j, patience)
	out := assert.Get(plane.Kubectl(ctx, stdin, append([]string{"--namespace", j.namespace}, args...)...)).Must(j)
	return out
}

func (j *groupOf) apply(strategy string) {
	j.Helper()
	j.kubectlWith(strings.NewReplacer("STRATEGY", strategy, "DIR", j.dir).Replace(manifest), "apply", "--filename=-")
}

// grant lets nodes read JobSets.
func (j *groupOf) grant() {
	j.Helper()
	assert.Must(j, controller.Grant(j.Context()))
}

// fail has the workers of pods exit that run now.
func (j *groupOf) fail(pods ...v1.Pod) {
	j.Helper()
	for _, r := range j.runs() {
		if !r.over && slices.ContainsFunc(pods, func(p v1.Pod) bool { return p.Name == r.pod }) {
			j.mark("fail-" + r.id)
		}
	}
}

// failNext has the next worker of a pod exit as soon as it runs.
func (j *groupOf) failNext(pod v1.Pod) { j.mark("next-" + pod.Name) }

// slow has the worker of a pod take until quick to end after its stop signal, which it gets when the pod is deleted:
// a restart in place kills it (B-RAC-6).
func (j *groupOf) slow(pod string) { j.mark("slow-" + pod) }

func (j *groupOf) quick(pod string) {
	j.Helper()
	assert.Must(j, os.Remove(filepath.Join(j.dir, "slow-"+pod)))
}

func (j *groupOf) evict(pod string) {
	j.Helper()
	eviction := &policy.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: j.namespace, Name: pod}}
	assert.Must(j, client.PolicyV1().Evictions(j.namespace).Evict(j.Context(), eviction))
}

func (j *groupOf) mark(name string) {
	j.Helper()
	assert.Must(j, os.WriteFile(filepath.Join(j.dir, name), nil, 0o600))
}

func (j *groupOf) all() []v1.Pod {
	j.Helper()
	all := assert.Get(client.CoreV1().Pods(j.namespace).List(j.Context(), metav1.ListOptions{})).Must(j)
	return all.Items
}

// pods are those that live.
func (j *groupOf) pods() (list []v1.Pod) {
	j.Helper()
	all := j.all()
	for i := range all {
		if pod := &all[i]; pod.DeletionTimestamp == nil && !lifecycle.Terminal(pod.Status.Phase) {
			list = append(list, *pod)
		}
	}
	return list
}

// await waits until the pods that live are as wanted.
func (j *groupOf) await(what string, wanted func([]v1.Pod) bool) []v1.Pod {
	j.Helper()
	return j.awaitOf(j.pods, what, wanted)
}

// awaitAll waits until all pods are as wanted.
func (j *groupOf) awaitAll(what string, wanted func([]v1.Pod) bool) []v1.Pod {
	j.Helper()
	return j.awaitOf(j.all, what, wanted)
}

func (j *groupOf) awaitOf(list func() []v1.Pod, what string, wanted func([]v1.Pod) bool) []v1.Pod {
	j.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if pods := list(); wanted(pods) {
			return pods
		}
	}
	j.Fatalf("the pods never came %s", what)
	return nil
}

// awaitAtBarrier waits until so many members wait at the barrier of an attempt.
func (j *groupOf) awaitAtBarrier(count, attempt int) {
	j.Helper()
	j.await(fmt.Sprintf("to wait for attempt %d, %d of them", attempt, count), func(pods []v1.Pod) bool {
		return atBarrier(pods, attempt) == count
	})
}

func atBarrier(pods []v1.Pod, attempt int) (n int) {
	for i := range pods {
		if attemptShownBy(&pods[i]) == fmt.Sprint(attempt) && waitsForGroup(&pods[i]) {
			n++
		}
	}
	return n
}

// attemptShownBy is the attempt that a pod has told, of a JobSet or not.
func attemptShownBy(pod *v1.Pod) string {
	attempt, _, _ := strings.Cut(pod.Annotations[lifecycle.MemberAttemptAnnotation], ".")
	return cmp.Or(pod.Annotations[lifecycle.AttemptAnnotation], attempt)
}

// attemptOf is the attempt that the pod has reported.
func attemptOf(pods []v1.Pod, uid types.UID) string {
	for i := range pods {
		if pods[i].UID == uid {
			return attemptShownBy(&pods[i])
		}
	}
	return ""
}

func waitsForGroup(pod *v1.Pod) bool {
	s := pod.Status.ContainerStatuses
	return len(s) > 0 && s[0].State.Waiting != nil && s[0].State.Waiting.Reason == "WaitingForGroup"
}

// awaitAttempt waits until all pods run in an attempt.
func (j *groupOf) awaitAttempt(n int) []v1.Pod {
	j.Helper()
	return j.await(fmt.Sprintf("to run in attempt %d", n), func(pods []v1.Pod) bool { return inAttempt(pods, n) })
}

// inAttempt says whether all pods run, and have reported an attempt.
func inAttempt(pods []v1.Pod, n int) bool {
	in := 0
	for i := range pods {
		if attemptShownBy(&pods[i]) == fmt.Sprint(n) {
			in++
		}
	}
	return len(pods) == workers && in == workers && running(pods) == workers
}

func (j *groupOf) hasEvent(reason string) bool {
	events, err := client.CoreV1().Events(j.namespace).List(j.Context(), metav1.ListOptions{FieldSelector: "reason=" + reason})
	return err == nil && len(events.Items) > 0
}

// wantStatus holds the JobSet's current and previous attempt against what they have to be.
func (j *groupOf) wantStatus(want string) {
	j.Helper()
	var object struct {
		Status struct {
			Current  *int32 `json:"currentInPlaceRestartAttempt"`
			Previous *int32 `json:"previousInPlaceRestartAttempt"`
		} `json:"status"`
	}
	assert.Must(j, json.Unmarshal([]byte(j.kubectl("get", "jobset", "train", "--output=json")), &object))
	s := object.Status
	assert.True(j, s.Current != nil && s.Previous != nil && fmt.Sprint(*s.Current, " ", *s.Previous) == want, "the JobSet has %+v, want %s", s, want)
}

func running(pods []v1.Pod) (n int) {
	for i := range pods {
		if s := pods[i].Status.ContainerStatuses; len(s) > 0 && s[0].State.Running != nil && s[0].Ready {
			n++
		}
	}
	return n
}

// place is what a restart in place keeps.
type place struct {
	uid     types.UID
	node    string
	address string
}

func places(pods []v1.Pod) map[string]place {
	all := map[string]place{}
	for _, pod := range pods {
		all[pod.Name] = place{pod.UID, pod.Spec.NodeName, pod.Status.PodIP}
	}
	return all
}
