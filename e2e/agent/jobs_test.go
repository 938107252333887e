package agent

import (
	"fmt"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/assert"
)

func job(name, fields, script string) string {
	return strings.NewReplacer("NAME", name, "FIELDS", fields, "SCRIPT", script).Replace(`
apiVersion: batch/v1
kind: Job
metadata: {name: NAME}
spec:
  FIELDS
  template:
    spec:
      restartPolicy: Never
      nodeSelector: {kubernetes.io/hostname: NODE}
      terminationGracePeriodSeconds: 2
      containers:
      - name: main
        image: TOOLBOX
        command: [sh, -c, "SCRIPT"]
        resources: {limits: {memory: 64Mi}}
`)
}

// TestIndexedJob: every index has its pod, whose log stays until it is deleted.
func TestIndexedJob(t *testing.T) {
	t.Parallel()
	c := newCluster(t, shared)
	c.apply(job("indexed", "completionMode: Indexed\n  completions: 3\n  parallelism: 2", "echo index $JOB_COMPLETION_INDEX"))
	c.kubectl("wait", "--for=condition=Complete", "job/indexed", "--timeout=60s")
	assert.Deep(t, "indexes that are done", "0-2", c.kubectl("get", "job", "indexed", "--output=jsonpath={.status.completedIndexes}"))
	for _, index := range []string{"0", "1", "2"} {
		log := c.kubectl("logs", "--selector=batch.kubernetes.io/job-completion-index="+index)
		assert.Deep(t, "log of a pod that has ended", "index "+index+"\n", log)
	}
}

// TestJobFails: attempts are counted until the limit; a rule for an exit code ends the
// job at once, or doesn't count.
func TestJobFails(t *testing.T) {
	t.Parallel()
	c := newCluster(t, shared)
	c.apply(job("limited", "backoffLimit: 0", "exit 3"))
	c.apply(job("ruled", `backoffLimit: 6
  podFailurePolicy: {rules: [{action: FailJob, onExitCodes: {containerName: main, operator: In, values: [42]}}]}`, "exit 42"))
	for name, want := range map[string]string{"limited": "BackoffLimitExceeded 1", "ruled": "PodFailurePolicy 1"} {
		c.kubectl("wait", "--for=condition=Failed", "job/"+name, "--timeout=60s")
		got := c.kubectl("get", "job", name, `--output=jsonpath={.status.conditions[?(@.type=="Failed")].reason} {.status.failed}`)
		assert.Deep(t, fmt.Sprintf("job %s", name), want, got)
	}
}

// TestJobIgnoresDisruptions: an evicted pod is a disruption, which a rule leaves out of the
// count.
func TestJobIgnoresDisruptions(t *testing.T) {
	t.Parallel()
	c := newCluster(t, shared)
	c.apply(job("patient", `backoffLimit: 0
  podReplacementPolicy: Failed
  podFailurePolicy: {rules: [{action: Ignore, onPodConditions: [{type: DisruptionTarget}]}]}`, "exec sleep 3600"))
	pods := c.awaitPods("job-name=patient", "to run", func(pods []v1.Pod) bool { return phases(pods)[v1.PodRunning] == 1 })
	c.evict(pods[0].Name)
	assert.Deep(t, "the evicted pod ended in phase", v1.PodFailed, c.untilDeleted(&pods[0]).Status.Phase)
	c.kubectl("wait", "--for=jsonpath={.status.ready}=0", "job/patient", "--timeout=60s")
	got := c.kubectl("get", "job", "patient", "--output=jsonpath={.status.failed}{.status.conditions}{.status.uncountedTerminatedPods}")
	assert.Deep(t, "failed pods, conditions and pods to be counted", "{}", got)
}
