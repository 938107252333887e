package client

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/journal"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/worker/podlog"
)

// ended writes the journal of a pod that was restarted once and has failed.
func ended(t *testing.T, f journal.Folder, uid string, created time.Time) {
	t.Helper()
	w := assert.Get(f.Writers().Create(journal.Pod{
		UID: uid, Namespace: "default", Name: "old", Created: created, Containers: []journal.Container{{Name: "main", Kind: "container", Image: "i"}},
	})).Must(t)
	status := v1.PodStatus{Phase: v1.PodFailed, Reason: "Evicted", Conditions: []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionFalse, Reason: "PodFailed"}}}
	_, err := w.Step(created, lifecycle.Woke{}, []lifecycle.Effect{
		lifecycle.Publish{Status: status}, lifecycle.RecordEvent{Type: "Normal", Reason: "Started", Message: "m", FieldPath: "spec.containers{main}"},
	})
	exit := &journal.Exit{Code: 4, Reason: "Error", FinishedAt: created}
	err = errors.Join(err, w.Now(journal.Now{
		At: created, Phase: "Failed", Stage: "gone", Containers: []journal.ContainerNow{{Name: "main", State: "terminated", Restarts: 1, Exit: exit}},
	}))
	for i, text := range []string{"one\n", "two\nend of " + uid + "\n"} {
		err = errors.Join(err, journal.KeepEnd(w.Dir(), journal.End{Container: "main", Attempt: uint32(i)}, []byte(text)))
	}
	assert.Must(t, errors.Join(err, w.Close()))
}

// TestEnded: a pod that has ended is found by name, the newest of them, and by UID, with its status, its events and the logs
// that the journal has.
func TestEnded(t *testing.T) {
	f := journal.Folder{Dir: t.TempDir()}
	ended(t, f, "b", time.Unix(1000, 0))
	ended(t, f, "a", time.Unix(2000, 0))
	c := lifepods(t, map[string]string{"1": "default/web"})
	c.Journals = []journal.Folder{f}
	find := func(name string) *UnattendedError {
		t.Helper()
		_, err := c.Find(t.Context(), name, "")
		left, is := errors.AsType[*UnattendedError](err)
		assert.Require(t, is, "%v", err)
		return left
	}
	old, newest := find("b"), find("old")
	assert.True(t, old.UID == "b" && newest.UID == "a" && strings.Contains(old.Error(), "pod default/old has ended"), "%s, %s, %v", old.UID, newest.UID, old)
	if s := old.Status; s.Phase != v1.PodFailed || s.Reason != "Evicted" || len(s.Conditions) != 1 || !s.Conditions[0].LastTransitionTime.Equal(new(metav1.Unix(1000, 0))) ||
		len(s.ContainerStatuses) != 1 || s.ContainerStatuses[0].State.Terminated.ExitCode != 4 {
		t.Errorf("status %+v", s)
	}
	assert.True(t, len(old.Events) == 1 && old.Events[0].InvolvedObject.FieldPath == "spec.containers{main}", "events %+v", old.Events)
	c.Elsewhere = func(_ context.Context, name string) ([]v1.Pod, error) {
		uid, there := map[string]types.UID{"gated": "g", "old": "b"}[name]
		if !there {
			return nil, errors.New("no answer")
		}
		return []v1.Pod{
			{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: uid}},
			{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name + "2", UID: uid + "2"}},
		}, nil
	}
	if gated, held := find("gated"), find("old"); !strings.Contains(gated.Error(), "default/gated is not on this machine: it has no node yet") || held.UID != "b" || !held.Over {
		t.Errorf("%v; of the name whose object a cluster has: %+v", gated, held)
	}
	if _, err := c.Find(t.Context(), "nobody", ""); err == nil || !strings.HasSuffix(err.Error(), "; whether the cluster has it is not known: no answer") {
		t.Errorf("of a cluster that does not answer: %v", err)
	}
	for back, want := range []string{"end of b\n", "one\n", "!has not been restarted so often"} {
		var log strings.Builder
		err := old.Log(&log, "main", back, podlog.LineOptions{Tail: 1})
		if failed, is := strings.CutPrefix(want, "!"); is && (err == nil || !strings.Contains(err.Error(), failed)) || !is && (err != nil || log.String() != want) {
			t.Errorf("log of %d instances before: %q, %v", back, log.String(), err)
		}
	}
	pods, _, err := c.Pods(t.Context())
	list := c.Ended(pods, nil)
	assert.True(t, err == nil && len(list) == 2 && list[0].UID == "b", "%+v, %v", list, err)
	err = old.Forget()
	assert.True(t, err == nil && len(c.Ended(pods, nil)) == 1, "forgotten: %v, %d left", err, len(c.Ended(pods, nil)))
	assert.True(t, f.Remove("") != nil && len(c.Ended(pods, nil)) == 1, "the journal was removed with a pod of no name")
}
