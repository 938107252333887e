package source

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	kubetesting "k8s.io/client-go/testing"
	"k8s.io/utils/ptr"

	"github.com/lifepod/lifepod/internal/assert"
)

func staticPod(name, hash string) *v1.Pod {
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: name, UID: types.UID("static-" + hash),
			Annotations: map[string]string{HashAnnotation: hash, SourceAnnotation: "file"},
		},
		Spec: v1.PodSpec{NodeName: "n", Containers: []v1.Container{{Name: "c"}}},
	}
}

// mirrorWorld is Mirrors, an API source and a fake API server that writes down what changes mirror pods.
type mirrorWorld struct {
	t       *testing.T
	client  *fake.Clientset
	mirrors *Mirrors
	feed    *recorder
	log     *textLog

	mu      sync.Mutex
	created int
	actions []string
	refuse  error
}

func newMirrorWorld(t *testing.T, objects ...runtime.Object) *mirrorWorld {
	w := &mirrorWorld{t: t, feed: newRecorder(), log: &textLog{}}
	w.client = fake.NewClientset(append(objects, &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "node-uid"}})...)
	w.client.PrependReactor("*", "pods", w.react)
	w.mirrors = &Mirrors{Client: w.client, NodeName: "n", Log: w.log.logger(),
		Changed: func(uid types.UID) { w.write("changed " + string(uid)) },
		Refused: func(_ *v1.Pod, err error) { w.write("refused: " + err.Error()) },
	}
	assert.Runs(t, w.mirrors.Run)
	assert.Runs(t, (&API{Client: w.client, NodeName: "n", Feed: w.feed, Mirrors: w.mirrors, Log: w.log.logger()}).Run)
	return w
}

func (w *mirrorWorld) write(line string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.actions = append(w.actions, line)
}

func (w *mirrorWorld) react(action kubetesting.Action) (bool, runtime.Object, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch a := action.(type) {
	case kubetesting.CreateActionImpl:
		pod := a.GetObject().(*v1.Pod)
		if _, err := w.client.Tracker().Get(a.GetResource(), a.GetNamespace(), pod.Name); err == nil { // the watch has not shown it yet
			return true, nil, apierrors.NewAlreadyExists(a.GetResource().GroupResource(), pod.Name)
		}
		w.actions = append(w.actions, fmt.Sprintf("create %s of %s", pod.Name, pod.Annotations[v1.MirrorPodAnnotationKey]))
		if w.refuse == nil && pod.UID == "" {
			w.created++
			pod.UID = types.UID(fmt.Sprintf("mirror-%d", w.created))
		}
		return w.refuse != nil, nil, w.refuse
	case kubetesting.DeleteActionImpl:
		o := a.GetDeleteOptions()
		w.actions = append(w.actions, fmt.Sprintf("delete %s uid %s grace %d", a.GetName(), ptr.Deref(o.Preconditions.UID, ""), ptr.Deref(o.GracePeriodSeconds, -1)))
	}
	return false, nil, nil
}

// want lets everything happen that happens within a while. A pod may be told of more than once, before or after what is
// done to its mirror pod: the watch is a goroutine of its own.
func (w *mirrorWorld) want(step string, want ...string) {
	w.t.Helper()
	time.Sleep(30 * time.Second)
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	diff := cmp.Diff(changesLast(want), changesLast(w.actions))
	assert.True(w.t, diff == "", "%s (-want +got):\n%s\nlog:\n%s", step, diff, w.log)
	w.actions = nil
}

// changesLast are actions with all pods that were told of at the end, each once.
func changesLast(actions []string) (list []string) {
	var changes []string
	for _, action := range actions {
		if strings.HasPrefix(action, "changed ") {
			changes = append(changes, action)
		} else {
			list = append(list, action)
		}
	}
	slices.Sort(changes)
	return append(list, slices.Compact(changes)...)
}

func (w *mirrorWorld) pod(name string) *v1.Pod {
	pod := assert.Get(w.client.Tracker().Get(v1.SchemeGroupVersion.WithResource("pods"), "default", name)).Must(w.t)
	return pod.(*v1.Pod).DeepCopy()
}

// TestMirrorLife: a mirror pod is made, made anew, replaced and deleted (B-STA-3, B-STA-4, B-STA-5, B-STA-6).
func TestMirrorLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newMirrorWorld(t)
		pods := w.client.CoreV1().Pods("default")
		w.mirrors.Want(staticPod("a", "1"))
		w.want("wanted", "create a of 1", "changed static-1")
		got := w.pod("a")
		owners := []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: "n", UID: "node-uid", Controller: new(true)}}
		assert.Deep(t, "owner", owners, got.OwnerReferences)
		uid := w.mirrors.Of("static-1").UID
		back, found := w.mirrors.StaticOf(uid)
		assert.True(t, found && uid == "mirror-1" && back == "static-1" && w.mirrors.Count() == 1, "translated to %s and back to %s (%v)", uid, back, found)

		deleting := w.pod("a")
		deleting.ResourceVersion = "9"
		deleting.DeletionTimestamp = &metav1.Time{Time: time.Now()}
		assert.Must(t, w.client.Tracker().Update(v1.SchemeGroupVersion.WithResource("pods"), deleting, "default"))
		w.want("being deleted by somebody", "changed static-1", "delete a uid mirror-1 grace 0", "create a of 1", "changed static-1")
		assert.Must(t, pods.Delete(t.Context(), "a", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{}}))
		w.want("deleted by somebody", "delete a uid  grace -1", "changed static-1", "create a of 1", "changed static-1")

		w.mirrors.Want(staticPod("a", "2"))
		w.want("another waits for the end of the first")
		w.mirrors.Unwant("static-1")
		w.want("replaced", "delete a uid mirror-3 grace 0", "create a of 2", "changed static-2")
		assert.True(t, w.mirrors.Of("static-1") == nil, "the old pod has a mirror pod still")
		w.mirrors.AllHeard()
		w.want("all heard")
		w.mirrors.Unwant("static-2")
		w.want("gone", "delete a uid mirror-4 grace 0")
		assert.Empty(t, w.mirrors.pods, "left")
		lines := w.feed.take()
		assert.True(t, len(lines) == 1, "a Feed hears of mirror pods: %q", lines)
	})
}

// TestMirrorOrphan: nothing is deleted before every source was heard (B-RST-3, B-STA-5).
func TestMirrorOrphan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		orphan, known := apiPod("orphan", "1", "1", mirror), apiPod("known", "2", "1", mirror)
		known.Annotations[v1.MirrorPodAnnotationKey] = "7"
		w := newMirrorWorld(t, orphan, known, apiPod("ordinary", "3", "1"))
		w.want("at first")
		w.mirrors.Want(staticPod("known", "7"))
		w.want("known already")
		w.mirrors.AllHeard()
		w.want("all heard", "delete orphan uid 1 grace 0")
	})
}

// TestMirrorOrphanNotFound: an orphan that the API server's admission does not find yet is
// deleted as soon as it does.
func TestMirrorOrphanNotFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newMirrorWorld(t)
		tries := 0
		w.client.PrependReactor("delete", "pods", func(kubetesting.Action) (bool, runtime.Object, error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			tries++
			return tries <= 2, nil, apierrors.NewNotFound(v1.Resource("pods"), "orphan")
		})
		w.mirrors.AllHeard()
		assert.Must(t, assert.ErrorOf(w.client.CoreV1().Pods("default").Create(t.Context(), apiPod("orphan", "1", "1", mirror), metav1.CreateOptions{})))
		time.Sleep(10 * time.Second)
		synctest.Wait()
		_, err := w.client.Tracker().Get(v1.SchemeGroupVersion.WithResource("pods"), "default", "orphan")
		assert.True(t, apierrors.IsNotFound(err) && tries == 3, "after %d tries: %v", tries, err)
	})
}

// TestMirrorRefused: what the API server says is reported once, and tried on (B-STA-3).
func TestMirrorRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newMirrorWorld(t, apiPod("ordinary", "3", "1"))
		w.refuse = apierrors.NewForbidden(v1.Resource("pods"), "a", errors.New("no"))
		w.mirrors.Want(staticPod("a", "1"))
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		w.mu.Lock()
		refusals := strings.Count(strings.Join(w.actions, "\n"), `refused: create mirror pod default/a: pods "a" is forbidden: no`)
		tries := len(w.actions) - 1
		assert.True(t, refusals == 1 && tries >= 10 && tries <= 30, "%d times refused in %d tries", refusals, tries)
		w.refuse, w.actions = nil, nil
		w.mu.Unlock()
		time.Sleep(2 * time.Minute)
		w.want("allowed again", "create a of 1", "changed static-1")
		w.mirrors.Want(staticPod("ordinary", "2"))
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		w.mu.Lock()
		defer w.mu.Unlock()
		if text := strings.Join(w.actions, "\n"); !strings.Contains(text, `refused: pods "ordinary, which is no mirror pod of this node," already exists`) {
			t.Errorf("an ordinary pod of that name: %s", text)
		}
	})
}

// TestMirrorWithoutNode: no mirror pod before the Node is registered, nor while it is deleted (B-STA-3).
func TestMirrorWithoutNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newMirrorWorld(t)
		nodes := w.client.CoreV1().Nodes()
		assert.Must(t, nodes.Delete(t.Context(), "n", metav1.DeleteOptions{}))
		w.mirrors.Want(staticPod("a", "1"))
		time.Sleep(time.Hour)
		w.want("no Node")
		assert.Must(t, assert.ErrorOf(nodes.Create(t.Context(), &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "other"}}, metav1.CreateOptions{})))
		time.Sleep(2 * time.Minute)
		w.want("a Node", "create a of 1", "changed static-1")
		got := w.log.String()
		assert.True(t, !strings.Contains(got, "WARN"), "log: %s", got)
	})
}

// TestMirrorOf: fields from ConfigMaps and Secrets are not shown, and named (B-STA-9).
func TestMirrorOf(t *testing.T) {
	pod := staticPod("a", "1")
	pod.Spec.ImagePullSecrets = []v1.LocalObjectReference{{Name: "s"}}
	got := mirrorOf(pod, &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}})
	want := map[string]string{HashAnnotation: "1", SourceAnnotation: "file", v1.MirrorPodAnnotationKey: "1", WithoutDataAnnotation: "spec.imagePullSecrets"}
	diff := cmp.Diff(want, got.Annotations)
	assert.True(t, diff == "" && got.Spec.ImagePullSecrets == nil && got.UID == "", "UID %q, spec %v, annotations (-want +got):\n%s", got.UID, got.Spec, diff)
}
