package localapi

import (
	"fmt"
	"sync"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	api "k8s.io/kubelet/pkg/apis/pods/v1alpha1"

	"github.com/lifepod/lifepod/internal/assert"
)

// node has the pods that a test gives it, and a client of its API.
type node struct {
	Changes
	client api.PodsClient
	server *PodsAPI
	heard  chan struct{} // nil: it knows all its pods

	lock sync.Mutex
	list []*v1.Pod
}

func (n *node) all() []*v1.Pod {
	n.lock.Lock()
	defer n.lock.Unlock()
	return n.list
}

// set replaces all pods.
func (n *node) set(list ...*v1.Pod) {
	n.lock.Lock()
	n.list = list
	n.lock.Unlock()
	n.Changed()
}

// newNode serves at a socket, where one of an agent before is.
func newNode(t *testing.T) *node {
	t.Helper()
	n := &node{}
	n.server = NewPodsAPI(n.all, func() <-chan struct{} { return n.heard }, &n.Changes)
	n.client = api.NewPodsClient(dial(t, PodsAPISocket, n.server.Listen))
	return n
}

func podsapiPod(uid string, phase v1.PodPhase) *v1.Pod {
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "pod-" + uid, UID: types.UID(uid)}, Status: v1.PodStatus{Phase: phase}}
}

// words are what a client reads of a pod.
func words(t *testing.T, text []byte) string {
	t.Helper()
	var p v1.Pod
	assert.Must(t, p.Unmarshal(text))
	return fmt.Sprintf("%s/%s %s %s", p.Namespace, p.Name, p.UID, p.Status.Phase)
}

func TestListAndGet(t *testing.T) {
	n := newNode(t)
	n.set(podsapiPod("b", v1.PodRunning), podsapiPod("a", v1.PodPending))
	list := assert.Get(n.client.ListPods(t.Context(), &api.ListPodsRequest{})).Must(t)
	var got []string
	for _, text := range list.Pods {
		got = append(got, words(t, text))
	}
	assert.Equal(t, fmt.Sprint(got), "[default/pod-a a Pending default/pod-b b Running]", "A-NODE-8 %v", got)
	one, err := n.client.GetPod(t.Context(), &api.GetPodRequest{PodUID: "b"})
	assert.True(t, err == nil && words(t, one.Pod) == "default/pod-b b Running", "A-NODE-8 %v, %v", one, err)
	_, err = n.client.GetPod(t.Context(), &api.GetPodRequest{PodUID: "c"})
	assert.True(t, status.Code(err) == codes.NotFound && status.Convert(err).Message() == "pod with UID c not found", "A-NODE-8 error %v", err)
}

// Nobody is answered before the node knows all its pods; requests are counted by what their answer was (A-NODE-8).
func TestNotReady(t *testing.T) {
	n := newNode(t)
	n.heard = make(chan struct{})
	watch := func() error {
		stream, err := n.client.WatchPods(t.Context(), &api.WatchPodsRequest{})
		if err == nil {
			_, err = stream.Recv()
		}
		return err
	}
	_, list := n.client.ListPods(t.Context(), &api.ListPodsRequest{})
	_, get := n.client.GetPod(t.Context(), &api.GetPodRequest{PodUID: "a"})
	for of, err := range map[string]error{"list": list, "get": get, "watch": watch()} {
		got := status.Convert(err)
		assert.True(t, got.Code() == codes.FailedPrecondition && got.Message() == "Kubelet is initializing", "A-NODE-8 %s: %v", of, err)
	}
	close(n.heard)
	assert.NoError(t, assert.ErrorOf(n.client.ListPods(t.Context(), &api.ListPodsRequest{})), "A-NODE-8")
	c := n.server.counts
	for _, count := range []struct {
		of, code string
		want     float64
	}{{"total", "FailedPrecondition", 3}, {"total", "OK", 1}, {"list_total", "OK", 1}, {"get_total", "FailedPrecondition", 1}, {"watch_total", "FailedPrecondition", 1}} {
		var got dto.Metric
		if err := c[count.of].WithLabelValues("v1alpha1", count.code).Write(&got); err != nil || got.Counter.GetValue() != count.want {
			t.Errorf("A-NODE-8 %s: %v requests, want %v (%v)", count.code, got.Counter.GetValue(), count.want, err)
		}
	}
}

func TestWatch(t *testing.T) {
	n := newNode(t)
	n.set(podsapiPod("b", v1.PodRunning), podsapiPod("a", v1.PodPending))
	stream := assert.Get(n.client.WatchPods(t.Context(), &api.WatchPodsRequest{})).Must(t)
	hears := func(want ...string) {
		t.Helper()
		for _, one := range want {
			event := assert.Get(stream.Recv()).Must(t)
			got := event.Type.String()
			if event.Pod != nil {
				got += " " + words(t, event.Pod)
			}
			assert.Equal(t, one, got, "A-NODE-9 heard")
		}
	}
	hears("ADDED default/pod-a a Pending", "ADDED default/pod-b b Running", "INITIAL_SYNC_COMPLETE")
	n.Changed() // of what a client does not see
	n.set(podsapiPod("b", v1.PodRunning), podsapiPod("a", v1.PodRunning))
	hears("MODIFIED default/pod-a a Running")
	n.set(podsapiPod("c", v1.PodPending), podsapiPod("a", v1.PodRunning))
	hears("ADDED default/pod-c c Pending", "DELETED default/pod-b b ")
}
