package groups

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/lifecycle"
)

// manifest is a JobSet with four workers, half of them on each node. A worker fails when it
// finds a file, which the next one has not.
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
            terminationGracePeriodSeconds: 1
            topologySpreadConstraints:
            - maxSkew: 1
              topologyKey: kubernetes.io/hostname
              whenUnsatisfiable: DoNotSchedule
              labelSelector: {matchLabels: {jobset.sigs.k8s.io/jobset-name: train}}
            containers:
            - name: worker
              image: lifepod.dev/toolbox:1
              command: [sh, -c, "until [ -e /fail ]; do sleep 0.05; done; exit 3"]
              resources: {limits: {memory: 64Mi}}
              restartPolicy: Never
              restartPolicyRules:
              - action: RestartAllContainers
                exitCodes: {operator: NotIn, values: [0]}
`

const workers = 4

// TestJobSet: the pods of a JobSet restart as one, without a container of their own for that.
func TestJobSet(t *testing.T) {
	j := newGroup(t)
	j.apply(manifest, "InPlaceRestart")

	t.Log("without permission the pods wait, and say why (B-GRP-10)")
	j.await("to say that the JobSet can't be read", func([]v1.Pod) bool { return j.hasEvent("GroupUnknown") })
	if pods := j.pods(); running(pods) > 0 {
		t.Errorf("B-GRP-10: %d pods run although they do not know their group", running(pods))
	}
	j.grant()
	pods := j.awaitAttempt(0)
	before := places(pods)

	t.Log("one fails: all restart in place, and none before all have ended (B-GRP-12)")
	began := time.Now()
	j.fail(pods[0].Name)
	after := j.awaitAttempt(1)
	t.Logf("all run again %v after the command to fail", time.Since(began).Round(time.Millisecond))
	for name, place := range places(after) {
		if before[name] != place {
			t.Errorf("pod %s was %v and is %v", name, before[name], place)
		}
	}
	for i := range after {
		if got := after[i].Status.ContainerStatuses[0].RestartCount; got != 1 {
			t.Errorf("%s: restartCount %d", after[i].Name, got)
		}
	}
	j.wantStatus("1 0")

	t.Log("one is replaced: the others restart in place and wait for it (B-GRP-2, B-GRP-4)")
	j.kubectl("delete", "pod", after[1].Name, "--wait=false")
	replaced := j.awaitAttempt(2)
	kept := 0
	for name, place := range places(replaced) {
		if before[name] == place {
			kept++
		}
	}
	if kept != workers-1 {
		t.Errorf("%d of %d pods are where they were", kept, workers-1)
	}
	j.wantStatus("2 1")
}

// TestAlone: a JobSet with another strategy starts at once, with an event (B-GRP-9).
func TestAlone(t *testing.T) {
	j := newGroup(t)
	j.grant()
	j.apply(manifest, "Recreate")
	j.await("to run", func(pods []v1.Pod) bool { return running(pods) == workers })
	if !j.hasEvent("NotInGroup") {
		t.Error("B-GRP-9: there is no event")
	}
	for _, pod := range j.pods() {
		if attempt, has := pod.Annotations[lifecycle.AttemptAnnotation]; has {
			t.Errorf("B-GRP-9: %s takes part in attempt %s", pod.Name, attempt)
		}
	}
}

// groupOf is a JobSet in a namespace of its own.
type groupOf struct {
	*testing.T
	namespace string
}

func newGroup(t *testing.T) *groupOf {
	t.Helper()
	made, err := client.CoreV1().Namespaces().Create(t.Context(),
		&v1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	j := &groupOf{T: t, namespace: made.Name}
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
		j.Logf("%s\n%s\nthe controller:\n%s", events, pods, controller.process.LastLines(30))
		for _, node := range nodes {
			j.Logf("the end of the log of %s:\n%s", node.Name, node.Process().LastLines(40))
		}
	}
	_, err := plane.Kubectl(ctx, "", "--namespace", j.namespace, "delete", "jobset", "train", "--cascade=foreground", "--timeout=80s")
	if err = errors.Join(err, client.CoreV1().Namespaces().Delete(ctx, j.namespace, metav1.DeleteOptions{})); err != nil {
		j.Error(err)
	}
}

func (j *groupOf) kubectl(args ...string) string {
	j.Helper()
	return j.kubectlWith("", args...)
}

func (j *groupOf) kubectlWith(stdin string, args ...string) string {
	j.Helper()
	ctx, cancel := context.WithTimeout(j.Context(), patience)
	defer cancel()
	out, err := plane.Kubectl(ctx, stdin, append([]string{"--namespace", j.namespace}, args...)...)
	if err != nil {
		j.Fatal(err)
	}
	return out
}

func (j *groupOf) apply(text, strategy string) {
	j.Helper()
	j.kubectlWith(strings.ReplaceAll(text, "STRATEGY", strategy), "apply", "--filename=-")
}

// grant applies the manifest of docs/groups.md that lets nodes read JobSets.
func (j *groupOf) grant() {
	j.Helper()
	docs, err := os.ReadFile("../../docs/groups.md")
	if err != nil {
		j.Fatal(err)
	}
	for block := range strings.SplitSeq(string(docs), "```yaml\n") {
		if text, _, _ := strings.Cut(block, "```"); strings.Contains(text, "kind: ClusterRoleBinding") {
			j.kubectlWith(text, "apply", "--filename=-")
			return
		}
	}
	j.Fatal("docs/groups.md has no ClusterRoleBinding")
}

// fail has a worker exit.
func (j *groupOf) fail(pod string) {
	j.Helper()
	j.kubectl("exec", pod, "--", "touch", "/fail")
}

// pods are those that live.
func (j *groupOf) pods() (list []v1.Pod) {
	j.Helper()
	all, err := client.CoreV1().Pods(j.namespace).List(j.Context(), metav1.ListOptions{})
	if err != nil {
		j.Fatal(err)
	}
	for i := range all.Items {
		if pod := &all.Items[i]; pod.DeletionTimestamp == nil && !lifecycle.Terminal(pod.Status.Phase) {
			list = append(list, *pod)
		}
	}
	return list
}

// await waits until the pods are as wanted.
func (j *groupOf) await(what string, wanted func([]v1.Pod) bool) []v1.Pod {
	j.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if pods := j.pods(); wanted(pods) {
			return pods
		}
	}
	j.Fatalf("the pods never came %s", what)
	return nil
}

// awaitAttempt waits until all pods run in an attempt. Until then no two attempts run.
func (j *groupOf) awaitAttempt(n int) []v1.Pod {
	j.Helper()
	return j.await(fmt.Sprintf("to run in attempt %d", n), func(pods []v1.Pod) bool {
		in := 0
		for i := range pods {
			if pods[i].Annotations[lifecycle.AttemptAnnotation] == fmt.Sprint(n) {
				in++
			}
		}
		return len(pods) == workers && in == workers && running(pods) == workers
	})
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
	if err := json.Unmarshal([]byte(j.kubectl("get", "jobset", "train", "--output=json")), &object); err != nil {
		j.Fatal(err)
	}
	if s := object.Status; s.Current == nil || s.Previous == nil || fmt.Sprint(*s.Current, " ", *s.Previous) != want {
		j.Errorf("the JobSet has %+v, want %s", s, want)
	}
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
