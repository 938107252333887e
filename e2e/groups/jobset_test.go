package groups

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/lifecycle"
)

// TestJobSet: the pods of a JobSet restart as one, without a container of their own for that.
func TestJobSet(t *testing.T) {
	j := newGroup(t)
	j.kubectl("delete", "clusterrolebinding", "lifepod-groups", "lifepod:groups", "--ignore-not-found") // of a run before, and lifepod up's
	j.apply("InPlaceRestart")

	t.Log("without permission the pods wait, and say why (B-GRP-10)")
	j.await("to say that the JobSet can't be read", func([]v1.Pod) bool { return j.hasEvent("GroupUnknown") })
	pods := j.pods()
	assert.True(t, running(pods) == 0, "B-GRP-10: %d pods run although they do not know their group", running(pods))
	j.grant()
	before := j.awaitAttempt(0)
	j.awaitRuns(workers)

	t.Log("one fails: all restart in place, and none before all have ended (B-GRP-12)")
	began := time.Now()
	j.fail(before[0])
	after := j.awaitAttempt(1)
	t.Logf("one was told to fail: all run again after %v", time.Since(began).Round(time.Millisecond))
	j.wantInPlace(before, after, workers)
	j.wantRestarts(after, 1)
	j.wantStatus("1 0")
	j.awaitRuns(2 * workers)
	j.wantEvents("Scheduled", "Pulled", "Created", "Started", "Killing", "GroupUnknown")

	t.Log("who began it, and where the time went")
	j.wantRestartBy(&before[0], 1)

	t.Log("one is replaced: the others restart in place and wait for it (B-GRP-2, B-GRP-4)")
	j.kubectl("delete", "pod", after[1].Name, "--wait=false")
	j.wantInPlace(before, j.awaitAttempt(2), workers-1)
	j.wantStatus("2 1")
	j.awaitRuns(3 * workers)

	t.Log("who takes part, as docs/groups.md has it")
	list := j.kubectl(j.documented("kubectl get pods ")...)
	t.Log(list)
	n := len(regexp.MustCompile(`(?m)^train-workers-\S+ +node-\S+ +Running +2$`).FindAllString(list, -1))
	assert.True(t, n == workers, "%d members take part in attempt 2, want %d:\n%s", n, workers, list)
}

// wantRestartBy wants why and timeline to show a restart that began with a pod.
func (j *groupOf) wantRestartBy(pod *v1.Pod, attempt int) {
	j.Helper()
	text := j.plugin("why", "--group", "train", "--namespace", j.namespace)
	j.Log(text)
	for _, want := range []string{
		fmt.Sprintf("has %d members; attempt %d began at ", workers, attempt), ", and all ran after ",
		"- It began with " + pod.Name + " on " + pod.Spec.NodeName + ": worker exited 3.",
		" until all took part in it;", " until nothing of the attempt before ran any more;", " until the barrier was lifted:", " until all ran;",
	} {
		assert.True(j, strings.Contains(strings.Join(strings.Fields(text), " "), want), "kubectl lifepod why --group does not say %q", want)
	}
	chart := j.plugin("timeline", "--group", "train", "--namespace", j.namespace)
	j.Log(chart)
	for _, want := range []string{
		fmt.Sprintf("group %s/train: %d members, attempt %d ", j.namespace, workers, attempt), "attempt 0 at +0s: all run after ",
		fmt.Sprintf(", begun by %s on %s (worker exited 3): all run after ", pod.Name, pod.Spec.NodeName),
	} {
		assert.True(j, strings.Contains(strings.Join(strings.Fields(chart), " "), want), "kubectl lifepod timeline --group does not say %q", want)
	}
}

// plugin runs lifepod as kubectl lifepod does.
func (j *groupOf) plugin(args ...string) string {
	j.Helper()
	out := assert.Get(plane.Plugin(j.Context(), binary, args...)).Must(j)
	return out
}

// documented are the arguments of a command of docs/groups.md.
func (j *groupOf) documented(begins string) []string {
	j.Helper()
	docs := assert.Get(os.ReadFile("../../docs/groups.md")).Must(j)
	_, after, found := strings.Cut(string(docs), "\n"+begins)
	assert.Require(j, found, "docs/groups.md has no command %q", begins)
	command, _, _ := strings.Cut(begins+after, "\n```")
	command = strings.NewReplacer("\\\n", " ", "'", "").Replace(command)
	return strings.Fields(command)[1:]
}

// TestFailsAgain: failures at a time are of one attempt, and one that comes as soon as the group runs begins another.
func TestFailsAgain(t *testing.T) {
	t.Parallel()
	j := newGroup(t)
	j.grant()
	j.apply("InPlaceRestart")
	before := j.awaitAttempt(0)
	j.awaitRuns(workers)

	t.Log("three fail at a time")
	j.fail(before[:3]...)
	after := j.awaitAttempt(1)
	j.wantInPlace(before, after, workers)
	j.wantRestarts(after, 1)
	j.wantStatus("1 0")
	j.awaitRuns(2 * workers)

	t.Log("one fails, and another one as soon as it runs again: all restart twice (B-GRP-6)")
	j.fail(before[0])
	j.await("to restart", func(pods []v1.Pod) bool { return attemptOf(pods, before[3].UID) == "2" })
	j.failNext(before[3])
	after = j.awaitAttempt(3)
	j.wantInPlace(before, after, workers)
	j.wantRestarts(after, 3)
	j.wantStatus("3 2")
}

// TestReplacedInRestart: while members wait at the barrier one of them is deleted, and another one is evicted while its
// worker still runs; their successors are waited for.
func TestReplacedInRestart(t *testing.T) {
	t.Parallel()
	j := newGroup(t)
	j.grant()
	j.apply("InPlaceRestart")
	before := j.awaitAttempt(0)
	j.awaitRuns(workers)

	t.Log("one is evicted and takes its time to end; another one fails: the others wait for the successor (B-GRP-12)")
	j.slow(before[3].Name)
	j.evict(before[3].Name)
	j.fail(before[0])
	j.awaitAtBarrier(workers-1, 1)

	t.Log("one that waits is deleted: its successor takes part in the same attempt (B-GRP-2)")
	j.kubectl("delete", "pod", before[1].Name, "--wait=false")
	waiting := j.await("to wait with the successor", func(pods []v1.Pod) bool {
		return !has(pods, before[1].UID) && atBarrier(pods, 1) == workers-1
	})
	j.wantRuns(workers)

	j.quick(before[3].Name)
	after := j.awaitAttempt(1)
	j.wantInPlace(waiting, after, workers-1)
	j.wantInPlace(before, after, workers-2)
	j.wantStatus("1 0")
	j.awaitRuns(2 * workers)
}

// TestDeletedInRestart: members that wait at the barrier end at once when their JobSet is deleted, and start nothing.
func TestDeletedInRestart(t *testing.T) {
	t.Parallel()
	j := newGroup(t)
	j.grant()
	j.apply("InPlaceRestart")
	before := j.awaitAttempt(0)
	j.awaitRuns(workers)
	j.slow(before[3].Name)
	j.evict(before[3].Name)
	j.fail(before[0])
	j.awaitAtBarrier(workers-1, 1)

	j.kubectl("delete", "jobset", "train", "--wait=false")
	left := j.awaitAll("to be gone but for the one that ends", func(pods []v1.Pod) bool { return len(pods) == 1 })
	assert.True(t, left[0].UID == before[3].UID, "%s is left, want %s", left[0].Name, before[3].Name)
	j.quick(before[3].Name)
	j.awaitAll("to be gone", func(pods []v1.Pod) bool { return len(pods) == 0 })
	j.wantRuns(workers)
}

// TestAlone: a JobSet with another strategy starts at once, with an event (B-GRP-9).
func TestAlone(t *testing.T) {
	t.Parallel()
	j := newGroup(t)
	j.grant()
	j.apply("Recreate")
	j.await("to run", func(pods []v1.Pod) bool { return running(pods) == workers })
	assert.True(t, j.hasEvent("NotInGroup"), "B-GRP-9: there is no event")
	for _, pod := range j.pods() {
		attempt, has := pod.Annotations[lifecycle.AttemptAnnotation]
		assert.True(t, !has, "B-GRP-9: %s takes part in attempt %s", pod.Name, attempt)
	}
}
