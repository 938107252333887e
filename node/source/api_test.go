package source

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	kubetesting "k8s.io/client-go/testing"

	"github.com/lifepod/lifepod/internal/assert"
)

func apiPod(name string, uid types.UID, version string, changes ...func(*v1.Pod)) *v1.Pod {
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: name, UID: uid, ResourceVersion: version,
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl"}},
		},
		Spec: v1.PodSpec{NodeName: "n"},
	}
	for _, change := range changes {
		change(pod)
	}
	return pod
}

func deleted(pod *v1.Pod) { pod.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} }
func mirror(pod *v1.Pod)  { pod.Annotations = map[string]string{v1.MirrorPodAnnotationKey: "h"} }
func bornAt(second int64) func(*v1.Pod) {
	return func(pod *v1.Pod) { pod.CreationTimestamp = metav1.Unix(second, 0) }
}

// TestPodStore: what a Feed hears of what a reflector says (B-RST-3, B-STA-5).
func TestPodStore(t *testing.T) {
	type step struct {
		name string
		do   func(*podStore) error
		want []string
	}
	add := func(pod *v1.Pod) func(*podStore) error {
		return func(s *podStore) error { return s.store().Update(pod) }
	}
	remove := func(pod *v1.Pod) func(*podStore) error {
		return func(s *podStore) error { return s.store().Delete(pod) }
	}
	list := func(pods ...any) func(*podStore) error {
		return func(s *podStore) error { return s.store().Replace(pods, "") }
	}
	for _, tc := range []struct {
		name  string
		steps []step
	}{
		{"a life", []step{
			{"first list, oldest first", list(apiPod("b", "2", "1", bornAt(2)), apiPod("c", "1", "1", bornAt(1))), []string{"wanted api c", "wanted api b", "heard api"}},
			{"change", add(apiPod("b", "2", "2")), []string{"wanted api b"}},
			{"again the same", add(apiPod("b", "2", "2")), nil},
			{"deletion", add(apiPod("b", "2", "3", deleted)), []string{"wanted api b deleted"}},
			{"gone", remove(apiPod("b", "2", "4")), []string{"unwanted api b"}},
			{"gone again", remove(apiPod("b", "2", "4")), nil},
		}},
		{"nothing at first", []step{{"list", list(), []string{"heard api"}}}},
		{"deleted and replaced unseen", []step{
			{"list", list(apiPod("a", "1", "1"), apiPod("b", "2", "1"), apiPod("c", "3", "1")), []string{"wanted api a", "wanted api b", "wanted api c", "heard api"}},
			{"list again", list(apiPod("b", "22", "5"), apiPod("c", "3", "1")), []string{"unwanted api a", "unwanted api b", "wanted api b"}},
			{"another UID", add(apiPod("c", "33", "6")), []string{"unwanted api c", "wanted api c"}},
		}},
		{"mirror pods", []step{
			{"list", list(apiPod("m", "1", "1", mirror)), []string{"mirror m", "heard api"}},
			{"gone unseen", list(), []string{"mirror m gone"}},
			{"again", add(apiPod("m", "2", "2", mirror)), []string{"mirror m"}},
			{"replaced", add(apiPod("m", "3", "3", mirror)), []string{"mirror m gone", "mirror m"}},
			{"replaced by none", add(apiPod("m", "4", "4")), []string{"mirror m gone", "wanted api m"}},
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			feed := newRecorder()
			store := &podStore{api: &API{Feed: feed, Mirrors: feed}, pods: map[types.NamespacedName]*v1.Pod{}}
			for _, s := range tc.steps {
				assert.Must(t, s.do(store))
				assert.Deep(t, s.name, s.want, feed.take())
			}
		})
	}
}

// TestSeenAnnotation: a pod keeps the time at which its UID was first seen (B-STA-2).
func TestSeenAnnotation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		feed := newRecorder()
		store := &podStore{api: &API{Feed: feed}, pods: map[types.NamespacedName]*v1.Pod{}}
		seen := func(pod *v1.Pod) string {
			time.Sleep(time.Second)
			assert.Must(t, store.store().Update(pod))
			return feed.pods[pod.UID].Annotations[SeenAnnotation]
		}
		first, second, other := seen(apiPod("a", "1", "1")), seen(apiPod("a", "1", "2")), seen(apiPod("a", "2", "3"))
		assert.True(t, first == second && second != other, "seen %s, then %s, another UID %s", first, second, other)
	})
}

// TestOutageAtStart: the source begins while the API server is away, and says so once.
func TestOutageAtStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset(apiPod("a", "1", "1"))
		var away atomic.Bool
		away.Store(true)
		client.PrependReactor("list", "pods", func(action kubetesting.Action) (bool, runtime.Object, error) {
			assert.Equal(t, "spec.nodeName=n", action.(kubetesting.ListAction).GetListRestrictions().Fields.String(), "field selector")
			return away.Load(), nil, errors.New("connection lost")
		})
		feed, log := newRecorder(), &textLog{}
		stop := assert.Runs(t, (&API{Client: client, NodeName: "n", Feed: feed, Log: log.logger()}).Run)
		time.Sleep(time.Hour)
		synctest.Wait()
		got := feed.take()
		assert.True(t, got == nil, "heard %q without an API server", got)
		away.Store(false)
		time.Sleep(20 * time.Second)
		synctest.Wait()
		assert.Deep(t, "", []string{"wanted api a", "heard api"}, feed.take())
		stop()
		want := []string{
			`level=WARN msg="listing and watching pods fails: trying again" err="connection lost"`,
			`level=INFO msg="listing and watching pods works again"`,
		}
		assert.Deep(t, "log", want, strings.Split(strings.TrimSpace(log.String()), "\n"))
	})
}
