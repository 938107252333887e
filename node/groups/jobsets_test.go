package groups

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic/fake"
	kubetesting "k8s.io/client-go/testing"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/lifecycle/group"
	"github.com/lifepod/lifepod/pods"
)

var _ pods.Groups = (*Groups)(nil)

// world is JobSets that run, and an API server that has them.
type world struct {
	*JobSets
	client *fake.FakeDynamicClient

	mu   sync.Mutex
	seen []lifecycle.GroupSeen
}

func newWorld(t *testing.T) *world {
	kinds := map[schema.GroupVersionResource]string{jobSets: "JobSetList"}
	w := &world{client: fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds)}
	all := assert.Get(newJobSets(w.client, slog.New(slog.DiscardHandler))).Must(t)
	w.JobSets = all
	return w
}

// bubble runs a test in virtual time.
func bubble(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		assert.Runs(t, w.Run)
		test(t, w)
	})
}

func (w *world) join(name string) {
	w.Join(podOf(name), func(f lifecycle.GroupSeen) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.seen = append(w.seen, f)
	})
	w.settle()
}

func podOf(name string) *v1.Pod {
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: name, UID: types.UID(name), Labels: map[string]string{lifecycle.JobSetLabel: "train"},
	}}
}

func (w *world) settle() {
	time.Sleep(time.Second)
	synctest.Wait()
}

// takeSeen are what was told since the last call.
func (w *world) takeSeen() []lifecycle.GroupSeen {
	w.settle()
	w.mu.Lock()
	defer w.mu.Unlock()
	seen := w.seen
	w.seen = nil
	return seen
}

// put has the API server have a JobSet in that version.
func (w *world) put(t *testing.T, version string, change func(*unstructured.Unstructured)) {
	t.Helper()
	jobSet := &unstructured.Unstructured{Object: map[string]any{
		"spec": map[string]any{"failurePolicy": map[string]any{"restartStrategy": inPlaceRestart}, "network": map[string]any{"subdomain": "x"}},
	}}
	jobSet.SetAPIVersion("jobset.x-k8s.io/v1alpha2")
	jobSet.SetKind("JobSet")
	jobSet.SetNamespace("default")
	jobSet.SetName("train")
	jobSet.SetResourceVersion(version)
	if change != nil {
		change(jobSet)
	}
	tracker := w.client.Tracker()
	if err := tracker.Update(jobSets, jobSet, "default"); err != nil {
		assert.Must(t, tracker.Create(jobSets, jobSet, "default"))
	}
}

func attempts(current, previous int64) func(*unstructured.Unstructured) {
	return func(o *unstructured.Unstructured) {
		o.Object["status"] = map[string]any{"currentInPlaceRestartAttempt": current, "previousInPlaceRestartAttempt": previous}
	}
}

func seen(current, previous int32) lifecycle.GroupSeen {
	return lifecycle.GroupSeen{Attempts: group.Attempts{Current: &current, Previous: &previous}}
}

// TestMember: a pod is told how far its JobSet is, at first and after each change, until it
// leaves; nothing is asked of the API server before there is one.
func TestMember(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.put(t, "1", nil)
		w.settle()
		if n := len(w.client.Actions()); n > 0 {
			t.Errorf("%d requests without a member", n)
		}
		w.join("a")
		assert.Deep(t, "at first", []lifecycle.GroupSeen{{}}, unique(w.takeSeen()))
		w.put(t, "2", attempts(4, 3))
		assert.Deep(t, "B-GRP-4, after a change", []lifecycle.GroupSeen{seen(4, 3)}, w.takeSeen())
		w.Leave("a")
		w.put(t, "3", attempts(5, 4))
		assert.Empty(t, w.takeSeen(), "told although it has left")
		if n := count(w.client.Actions(), "watch"); n != 1 {
			t.Errorf("%d watches", n)
		}
	})
}

// TestReadsFirst: a pod that is new is told what the API server has now, never what the watch
// had before (B-GRP-2).
func TestReadsFirst(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.put(t, "8", attempts(4, 3))
		w.join("a")
		w.takeSeen()
		old := w.client.Tracker()
		w.client.PrependReactor("get", "jobsets", func(kubetesting.Action) (bool, runtime.Object, error) {
			object, err := old.Get(jobSets, "default", "train")
			if err != nil {
				return true, nil, err
			}
			newest := object.(*unstructured.Unstructured).DeepCopy()
			newest.SetResourceVersion("9")
			attempts(5, 4)(newest)
			return true, newest, nil
		})
		w.join("b")
		for _, got := range w.takeSeen() {
			assert.Deep(t, "B-GRP-2", seen(5, 4), got)
		}
		w.put(t, "8", attempts(4, 3)) // the watch comes late
		assert.Empty(t, w.takeSeen(), "B-GRP-8: something old is told")
	})
}

// TestSays: members are told what concerns them, and nothing again: neither a change of the JobSet that
// does not, nor what one was told that joined before.
func TestSays(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.put(t, "1", attempts(4, 3))
		w.join("a")
		w.takeSeen()
		w.put(t, "2", func(o *unstructured.Unstructured) {
			attempts(4, 3)(o)
			o.SetLabels(map[string]string{"edited": "yes"})
		})
		got := w.takeSeen()
		assert.True(t, len(got) == 0, "told %v although nothing has changed", got)
		w.join("b")
		assert.Deep(t, "one is new", []lifecycle.GroupSeen{seen(4, 3)}, w.takeSeen())
	})
}

// TestOvertaken: who joins while the watch brings something newer than what is read for it is told the
// newer (B-GRP-8), and not nothing.
func TestOvertaken(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.put(t, "1", attempts(4, 3))
		w.join("a")
		w.takeSeen()
		old := w.client.Tracker()
		w.client.PrependReactor("get", "jobsets", func(kubetesting.Action) (bool, runtime.Object, error) {
			object, err := old.Get(jobSets, "default", "train")
			w.put(t, "2", attempts(5, 4))
			time.Sleep(time.Second) // the watch comes before the answer
			return true, object, err
		})
		w.join("b")
		w.settle()
		assert.Deep(t, "a from the watch, b when its JobSet was read", []lifecycle.GroupSeen{seen(5, 4), seen(5, 4)}, w.takeSeen())
	})
}

// TestAlone: a JobSet with another strategy, or with the annotation that disables it, has no
// group (B-GRP-9).
func TestAlone(t *testing.T) {
	for want, change := range map[string]func(*unstructured.Unstructured){
		`JobSet default/train has failurePolicy.restartStrategy "Recreate", not InPlaceRestart`: func(o *unstructured.Unstructured) {
			o.Object["spec"].(map[string]any)["failurePolicy"] = map[string]any{"restartStrategy": "Recreate"}
		},
		`JobSet default/train has failurePolicy.restartStrategy "", not InPlaceRestart`: func(o *unstructured.Unstructured) {
			delete(o.Object, "spec")
		},
		"JobSet default/train has the annotation jobset.sigs.k8s.io/disable-in-place-restart": func(o *unstructured.Unstructured) {
			o.SetAnnotations(map[string]string{disableAnnotation: ""})
		},
	} {
		bubble(t, func(t *testing.T, w *world) {
			w.put(t, "1", change)
			w.join("a")
			seen := unique(w.takeSeen())
			assert.Require(t, len(seen) == 1, "B-GRP-9: %+v", seen)
			assert.Equal(t, want, seen[0].Alone.String(), "B-GRP-9")
			w.put(t, "2", nil)
			w.takeSeen()
			w.put(t, "3", change) // as the watch shows it
			assert.Deep(t, "B-GRP-9, from the watch", seen, unique(w.takeSeen()))
		})
	}
}

// TestUnknown: a pod is told why its JobSet can't be read, and how far that is as soon as it can
// (B-GRP-10).
func TestUnknown(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		refused := errors.New("jobsets.jobset.x-k8s.io is forbidden")
		var mu sync.Mutex
		w.client.PrependReactor("*", "jobsets", func(kubetesting.Action) (bool, runtime.Object, error) {
			mu.Lock()
			defer mu.Unlock()
			return refused != nil, nil, refused
		})
		w.join("a")
		heard := w.takeSeen()
		if len(heard) == 0 || !strings.HasPrefix(heard[0].Unknown.String(), "JobSet default/train can't be read: ") || !strings.Contains(heard[0].Unknown.Reason, "forbidden") {
			t.Errorf("B-GRP-10: told %+v", heard)
		}
		mu.Lock()
		refused = nil
		mu.Unlock()
		w.put(t, "1", attempts(2, 1))
		time.Sleep(2 * readRetryMost)
		heard = w.takeSeen()
		assert.True(t, len(heard) != 0 && cmp.Equal(heard[len(heard)-1], seen(2, 1)), "when it can be read: told %+v", heard)
		w.Leave("a")
		w.settle()
		w.client.ClearActions()
		time.Sleep(time.Minute)
		n := count(w.client.Actions(), "get")
		assert.True(t, n <= 0, "it is read %d times although no pod takes part in it", n)
	})
}

// TestSize: a pod is told how many members its group has, and how many have no pod, by what is read and by what the
// watch has (B-GRP-16).
func TestSize(t *testing.T) {
	job := func(name string, replicas, parallelism int64) any {
		return map[string]any{"name": name, "replicas": replicas, "template": map[string]any{
			"metadata": map[string]any{}, "spec": map[string]any{"parallelism": parallelism, "completions": parallelism},
		}}
	}
	stands := func(name string, active, succeeded int64) any {
		return map[string]any{"name": name, "ready": int64(0), "active": active, "succeeded": succeeded, "failed": int64(0)}
	}
	jobs := []any{job("driver", 1, 1), job("workers", 4, 8), job("a", 1, 1), job("b", 2, 1), job("c", 1, 2)}
	for _, c := range []struct {
		name     string
		standing []any
		want     group.Size
	}{
		{"B-GRP-16: no status yet", nil, group.Size{Members: 38}},
		{"B-GRP-16: all are there", []any{stands("driver", 1, 0), stands("workers", 3, 1)}, group.Size{Members: 38}},
		{
			"B-GRP-16: some have no pod",
			[]any{stands("driver", 0, 0), stands("workers", 2, 1), stands("a", 1, 0)},
			group.Size{Members: 38, Podless: 9, Jobs: []group.Jobs{{Name: "driver", Podless: 1, Of: 1}, {Name: "workers", Podless: 1, Of: 4}}},
		},
		{
			"B-GRP-16: not all are named",
			[]any{stands("driver", 0, 0), stands("workers", 0, 0), stands("a", 0, 0), stands("b", 1, 0), stands("c", 0, 0)},
			group.Size{Members: 38, Podless: 37, Jobs: []group.Jobs{{Name: "driver", Podless: 1, Of: 1}, {Name: "workers", Podless: 4, Of: 4}, {Name: "a", Podless: 1, Of: 1}}, MoreJobs: 2},
		},
	} {
		bubble(t, func(t *testing.T, w *world) {
			change := func(o *unstructured.Unstructured) {
				o.Object["spec"].(map[string]any)["replicatedJobs"] = jobs
				if c.standing != nil {
					o.Object["status"] = map[string]any{"replicatedJobsStatus": c.standing}
				}
			}
			w.put(t, "1", change)
			w.join("a")
			assert.Deep(t, c.name, []lifecycle.GroupSeen{{Size: c.want}}, unique(w.takeSeen()))
			w.put(t, "2", nil)
			w.takeSeen()
			w.put(t, "3", change) // as the watch shows it
			assert.Deep(t, fmt.Sprintf("%s, from the watch", c.name), []lifecycle.GroupSeen{{Size: c.want}}, unique(w.takeSeen()))
		})
	}
}

// unique leaves out what was told again: by the watch, what was read.
func unique(all []lifecycle.GroupSeen) (list []lifecycle.GroupSeen) {
	for i, f := range all {
		if i == 0 || !cmp.Equal(f, all[i-1]) {
			list = append(list, f)
		}
	}
	return list
}

func count(actions []kubetesting.Action, verb string) (n int) {
	for _, a := range actions {
		if a.GetVerb() == verb {
			n++
		}
	}
	return n
}
