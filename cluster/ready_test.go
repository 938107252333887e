package cluster

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"

	"github.com/lifepod/lifepod/e2e/machine"
	"github.com/lifepod/lifepod/internal/assert"
)

// delayed has a part begin late, until the test ends.
func delayed(t *testing.T, name string, delay time.Duration) {
	before := parts
	t.Cleanup(func() { parts = before })
	parts = slices.Clone(parts)
	for i, p := range parts {
		if p.name != name {
			continue
		}
		parts[i].run = func(r *run, ctx context.Context, shared informers.SharedInformerFactory) error {
			time.Sleep(delay)
			return p.run(r, ctx, shared)
		}
	}
}

// However late the controllers are: when the cluster says that it is ready, the first
// objects are taken.
func TestReadyWithSlowControllers(t *testing.T) {
	delayed(t, "controllers", 10*time.Second)
	s := startCluster(t, Config{Disable: withoutNode})
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "first"}, Spec: v1.PodSpec{
		PriorityClassName: "system-cluster-critical", Containers: []v1.Container{{Name: "main", Image: "lifepod.dev/toolbox:1"}},
	}}
	for _, namespace := range []string{"default", "kube-system", "kube-public", "kube-node-lease"} {
		assert.NoError(t, assert.ErrorOf(s.client.CoreV1().Namespaces().Get(t.Context(), namespace, metav1.GetOptions{})))
	}
	assert.NoError(t, assert.ErrorOf(s.client.CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{})))
	service := &v1.Service{ObjectMeta: metav1.ObjectMeta{Name: "first"}, Spec: v1.ServiceSpec{Ports: []v1.ServicePort{{Port: 80}}}}
	assert.NoError(t, assert.ErrorOf(s.client.CoreV1().Services("default").Create(t.Context(), service, metav1.CreateOptions{})))
}

// firstObjects are those that users' first objects need.
var firstObjects = []runtime.Object{
	&v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}},
	&v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kube-system"}},
	&v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kube-public"}},
	&v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kube-node-lease"}},
	&v1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "kubernetes"}},
	&v1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "default"}},
	&v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "kube-root-ca.crt"}},
}

// Each of them is waited for, and the log says which one is missing.
func TestNeeds(t *testing.T) {
	for i := range firstObjects {
		synctest.Test(t, func(t *testing.T) {
			there := slices.Delete(slices.Clone(firstObjects), i, i+1)
			client, log := fake.NewClientset(there...), &machine.Log{}
			r := &run{layout: &layout{Config: Config{Log: slog.New(slog.NewTextHandler(log, nil))}}, client: client}
			began := time.Now()
			time.AfterFunc(15*time.Second, func() {
				assert.NoError(t, client.Tracker().Add(firstObjects[i]))
			})
			assert.Must(t, r.await(t.Context(), r.needs()))
			took := time.Since(began).Round(time.Second)
			assert.True(t, took == 15*time.Second, "without object %d it took %v, want 15s", i, took)
			assert.True(t, strings.Contains(log.String(), "not found"), "without object %d the log says %q", i, log)
		})
	}
}

// Without controllers nobody makes what only they make.
func TestNeedsWithoutControllers(t *testing.T) {
	r := &run{layout: &layout{Config: Config{Disable: []string{"controllers"}}}, client: fake.NewClientset(firstObjects[:5]...)}
	assert.NoError(t, r.await(t.Context(), r.needs()))
}

// A cluster whose node is not registered yet is not ready.
func TestReadyAfterTheNode(t *testing.T) {
	asked := make(chan string, 100)
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte("{}"))
		asked <- r.URL.Path
	}))
	defer api.Close()
	client := assert.Get(kubernetes.NewForConfig(&rest.Config{Host: api.URL, QPS: -1})).Must(t)
	called, registered := make(chan Ready, 1), make(chan struct{})
	r := &run{
		layout: &layout{Config: Config{Log: slog.New(slog.DiscardHandler), Node: "n1"}}, client: client,
		ready: func(ready Ready) { called <- ready },
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r.tellReady(t.Context(), registered)
	}()
	for path := ""; !strings.HasSuffix(path, "kube-root-ca.crt"); {
		path = <-asked
	}
	select {
	case <-called:
		t.Error("it is ready without its node")
	case <-time.After(300 * time.Millisecond):
	}
	close(registered)
	<-ended
	ready := <-called
	assert.True(t, ready.Node == "n1", "it is ready with %+v", ready)
}
