package objects

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/lifepod/lifepod/lifecycle"
)

// TestMain takes away the handling of errors that no test looks at, which sleeps
// by a clock that all tests share.
func TestMain(m *testing.M) {
	utilruntime.ErrorHandlers = nil //nolint:reassign // it is there to be set
	m.Run()
}

var errAway = errors.New("connection refused")

// world is an API server and the Objects of a node.
type world struct {
	*Objects
	client *fake.Clientset

	mu      sync.Mutex
	away    bool
	changes []string // what Changed said
	watches int      // begun so far
	open    int      // of them
}

// inWorld runs a test in virtual time, with a world of these objects.
func inWorld(t *testing.T, test func(t *testing.T, w *world), objects ...runtime.Object) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t, newWorld(t, objects...)) })
}

func newWorld(t *testing.T, objects ...runtime.Object) *world {
	t.Helper()
	w := &world{client: fake.NewClientset(objects...)}
	w.client.PrependReactor("*", "*", func(clienttesting.Action) (bool, runtime.Object, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.away {
			return true, nil, errAway
		}
		return false, nil, nil
	})
	w.client.PrependWatchReactor("*", w.watch)
	w.Objects = New(t.Context(), Options{
		Client: w.client, Log: slog.New(slog.DiscardHandler), Changed: w.changed,
		NodeLabels: func() (map[string]string, error) { return map[string]string{"disk": "here"}, nil },
	})
	return w
}

func (w *world) changed(pod types.UID, because lifecycle.Because) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.changes = append(w.changes, fmt.Sprintf("%s: %s", pod, because))
}

// hears is what was told since the last time.
func (w *world) hears() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	changes := w.changes
	w.changes = nil
	slices.Sort(changes)
	return changes
}

func (w *world) setAway(away bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.away = away
}

func (w *world) opened() (begun, open int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.watches, w.open
}

// watch counts the watches that are open.
func (w *world) watch(action clienttesting.Action) (bool, watch.Interface, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.away {
		return true, nil, errAway
	}
	inner, err := w.client.Tracker().Watch(action.GetResource(), action.GetNamespace())
	if err != nil {
		return true, nil, err
	}
	w.watches++
	w.open++
	return true, &counted{Interface: inner, closed: sync.OnceFunc(func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.open--
	})}, nil
}

type counted struct {
	watch.Interface
	closed func()
}

// Stop ends the watch.
func (c *counted) Stop() {
	c.closed()
	c.Interface.Stop()
}

func newConfigMap(name string, data ...string) *v1.ConfigMap {
	c := &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl"}}}, Data: map[string]string{}}
	for i := 0; i < len(data); i += 2 {
		c.Data[data[i]] = data[i+1]
	}
	return c
}

func newSecret(name, key, value string) *v1.Secret {
	return &v1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}, Data: map[string][]byte{key: []byte(value)}}
}

func newPod(uid types.UID, sources ...v1.VolumeSource) *v1.Pod {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "pod-" + string(uid), UID: uid}, Spec: v1.PodSpec{ServiceAccountName: "default"}}
	for i, source := range sources {
		pod.Spec.Volumes = append(pod.Spec.Volumes, v1.Volume{Name: fmt.Sprint("v", i), VolumeSource: source})
	}
	return pod
}

func inConfigMap(name string) v1.VolumeSource {
	return v1.VolumeSource{ConfigMap: &v1.ConfigMapVolumeSource{LocalObjectReference: v1.LocalObjectReference{Name: name}}}
}

func inSecret(name string) v1.VolumeSource {
	return v1.VolumeSource{Secret: &v1.SecretVolumeSource{SecretName: name}}
}

// withVariable is a pod with a variable from a ConfigMap.
func withVariable(uid types.UID, configMap string) *v1.Pod {
	pod := newPod(uid)
	pod.Spec.Containers = []v1.Container{{Name: "main", Env: []v1.EnvVar{{Name: "A", ValueFrom: &v1.EnvVarSource{
		ConfigMapKeyRef: &v1.ConfigMapKeySelector{LocalObjectReference: v1.LocalObjectReference{Name: configMap}, Key: "a"},
	}}}}}
	return pod
}
