package groups

import (
	"context"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/assert"
)

// jobManifest begins an Indexed Job of the same workers, a group without a JobSet.
const jobManifest = `
apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec:
  completionMode: Indexed
  completions: 4
  parallelism: 4
  backoffLimit: 2147483647
  template:
    metadata:
      labels: {lifepod.dev/group-name: train}
      annotations: {lifepod.dev/group: members, lifepod.dev/group-size: "4"}
`

// applyJob makes the Job, whose workers are those of the JobSet; others are texts of the manifest, and what is in their places.
func (j *groupOf) applyJob(others ...string) {
	j.Helper()
	_, spec, found := strings.Cut(manifest, "annotations: {lifepod.dev/group: jobset}}\n")
	assert.Require(j, found, "the JobSet's manifest has no pod template")
	spec = strings.ReplaceAll("\n"+spec, "\n      ", "\n")
	text := jobManifest + strings.NewReplacer(append(others, "DIR", j.dir, "jobset.sigs.k8s.io/jobset-name", "lifepod.dev/group-name")...).Replace(spec)
	j.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if j.Failed() {
			pods, _ := plane.Kubectl(ctx, "", "--namespace", j.namespace, "get", "pods", "--output=yaml") // what can't be had is not shown
			j.Log(pods)
		}
		assert.NoError(j, assert.ErrorOf(plane.Kubectl(ctx, "", "--namespace", j.namespace, "delete", "job", "train", "--cascade=foreground", "--timeout=80s")))
	})
	j.kubectlWith(text, "apply", "--filename=-")
}

// TestMembers: the pods of a plain Job on two nodes restart as one (B-GRP-17).
func TestMembers(t *testing.T) {
	t.Parallel()
	j := newGroup(t)
	j.grant()
	j.applyJob()
	before := j.awaitAttempt(0)
	j.awaitRuns(workers)

	t.Log("one fails: all restart in place, and none before all have ended (B-GRP-12, B-GRP-19)")
	began := time.Now()
	j.fail(before[0])
	after := j.awaitAttempt(1)
	t.Logf("one was told to fail: all run again after %v", time.Since(began).Round(time.Millisecond))
	j.wantInPlace(before, after, workers)
	j.wantRestarts(after, 1)
	j.awaitRuns(2 * workers)
	j.wantRestartBy(&before[0], 1)

	t.Log("one is deleted and takes its time to end; its successor is there at once: all wait for both (B-GRP-19, B-GRP-20)")
	j.slow(before[1].Name)
	j.kubectl("delete", "pod", before[1].Name, "--wait=false")
	j.await("to wait with the successor", func(pods []v1.Pod) bool { return !has(pods, before[1].UID) && atBarrier(pods, 2) == workers })
	j.wantRuns(2 * workers)
	j.quick(before[1].Name)
	j.wantInPlace(before, j.awaitAttempt(2), workers-1)
	j.awaitRuns(3 * workers)
	j.wantEvents("Scheduled", "Pulled", "Created", "Started", "Killing")
	list := j.kubectl("get", "pods", "-l", "lifepod.dev/group-name=train", "-o",
		`custom-columns=NAME:.metadata.name,NODE:.spec.nodeName,PHASE:.status.phase,ATTEMPT:.metadata.annotations.lifepod\.dev/group-attempt`)
	t.Log(list)
}
