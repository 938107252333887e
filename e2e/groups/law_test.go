package groups

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/internal/assert"
)

// ran is one run of a worker: where in the log it says for the first and the last time that it runs.
type ran struct {
	pod, id     string
	first, last int
	over        bool // the same worker has another run since
}

// worker is what a pod and its successors have in common.
func (r *ran) worker() string { return r.pod[:strings.LastIndex(r.pod, "-")] }

// runs are those of all workers, in the order of their starts.
func (j *groupOf) runs() (list []*ran) {
	j.Helper()
	text, err := os.ReadFile(filepath.Join(j.dir, "log"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		j.Fatal(err)
	}
	byRun := map[string]*ran{}
	for i, line := range strings.Split(string(text), "\n") {
		pod, run, whole := strings.Cut(line, " ")
		if !whole {
			continue
		}
		if byRun[run] == nil {
			byRun[run] = &ran{pod: pod, id: run, first: i}
			for _, before := range list {
				before.over = before.over || before.worker() == byRun[run].worker()
			}
			list = append(list, byRun[run])
		}
		byRun[run].last = i
	}
	return list
}

// awaitRuns waits until so many workers have started, and all have gone on since: a container runs a moment before its
// shell does.
func (j *groupOf) awaitRuns(want int) {
	j.Helper()
	j.await(fmt.Sprintf("to run %d workers", want), func([]v1.Pod) bool {
		runs := j.runs()
		return len(runs) >= want && !slices.ContainsFunc(runs, func(r *ran) bool { return !r.over && r.last <= runs[len(runs)-1].first })
	})
	j.wantRuns(want)
}

// wantRuns: so many workers have started until now, and of those of an attempt none ended before another
// one started (B-GRP-12).
func (j *groupOf) wantRuns(want int) {
	j.Helper()
	runs := j.runs()
	assert.Deep(j, "B-GRP-5 workers have started", want, len(runs))
	for _, starts := range runs {
		for _, ended := range runs {
			for _, other := range runs {
				assert.Require(j, !ended.over || ended.last >= starts.first || other.first >= ended.last || other.last <= starts.first,
					"B-GRP-12: %s started after %s had ended, while %s of its attempt still ran", starts.pod, ended.pod, other.pod)
			}
		}
	}
}

// wantEvents: the pods have events for these reasons and no others.
func (j *groupOf) wantEvents(allowed ...string) {
	j.Helper()
	events := assert.Get(client.CoreV1().Events(j.namespace).List(j.Context(), metav1.ListOptions{FieldSelector: "involvedObject.kind=Pod"})).Must(j)
	for _, e := range events.Items {
		assert.True(j, slices.Contains(allowed, e.Reason), "%s has the event %s: %s", e.InvolvedObject.Name, e.Reason, e.Message)
	}
}

// wantInPlace: so many pods are what they were before, where they were.
func (j *groupOf) wantInPlace(before, after []v1.Pod, want int) {
	j.Helper()
	kept := 0
	then := places(before)
	for name, place := range places(after) {
		if then[name] == place {
			kept++
		}
	}
	assert.True(j, kept == want, "%d of %d pods are where they were: %v, then %v", kept, want, then, places(after))
}

// wantRestarts: each container has restarted that often.
func (j *groupOf) wantRestarts(pods []v1.Pod, want int32) {
	j.Helper()
	for i := range pods {
		assert.Deep(j, fmt.Sprintf("%s: restartCount", pods[i].Name), want, pods[i].Status.ContainerStatuses[0].RestartCount)
	}
}

func has(pods []v1.Pod, uid types.UID) bool {
	return slices.ContainsFunc(pods, func(p v1.Pod) bool { return p.UID == uid })
}
