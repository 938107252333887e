package nodeparts

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/node/publish"
)

// joined counts nodes: each has a name of its own.
var joined atomic.Int64

// statusNode is a node of the cluster as far as statuses go: a Writer with the node's
// credentials, and the watch of its pods.
type statusNode struct {
	*publish.Writer
	t      testing.TB
	name   string
	admin  kubernetes.Interface
	client kubernetes.Interface
	log    *lines
	writes atomic.Int64 // requests that change something
	blind  atomic.Bool  // the Writer is told nothing by the watch
	shown  chan *v1.Pod // what the watch shows, before the Writer knows it
}

// joinAs makes a node, whose parts end with the test.
func joinAs(t testing.TB, config publish.WriterConfig) *statusNode {
	t.Helper()
	name := fmt.Sprintf("%s-%d", strings.ReplaceAll(strings.ToLower(t.Name()), "/", "-"), joined.Add(1))
	n := &statusNode{t: t, name: name, log: &lines{}, shown: make(chan *v1.Pod, 10000)}
	n.admin = admin(t)
	assert.Must(t, assert.ErrorOf(n.admin.CoreV1().Nodes().Create(t.Context(), &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.name}}, metav1.CreateOptions{})))
	n.client = clientOf(t, n.name, func(connection *rest.Config) {
		connection.Wrap(func(next http.RoundTripper) http.RoundTripper {
			return roundTripper(func(r *http.Request) (*http.Response, error) {
				if r.Method != http.MethodGet {
					n.writes.Add(1)
				}
				return next.RoundTrip(r)
			})
		})
	})
	config.Client, config.Log = n.client, slog.New(slog.NewTextHandler(n.log, nil))
	n.Writer = publish.NewWriter(config)
	n.run()
	return n
}

// run keeps Writer and watch going until the test ends.
func (n *statusNode) run() {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { n.Run(ctx) })
	onNode := fields.OneTermEqualSelector("spec.nodeName", n.name)
	_, watch := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: cache.NewListWatchFromClient(n.client.CoreV1().RESTClient(), "pods", v1.NamespaceAll, onNode),
		ObjectType:    &v1.Pod{},
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc:    func(o any) { n.show(o.(*v1.Pod)) },
			UpdateFunc: func(_, o any) { n.show(o.(*v1.Pod)) },
			DeleteFunc: func(o any) {
				if gone, missed := o.(cache.DeletedFinalStateUnknown); missed {
					o = gone.Obj
				}
				if !n.blind.Load() {
					n.Gone(o.(*v1.Pod))
				}
			},
		},
	})
	running.Go(func() { watch.RunWithContext(ctx) })
	n.t.Cleanup(func() {
		cancel()
		running.Wait()
	})
}

func (n *statusNode) show(pod *v1.Pod) {
	n.shown <- pod
	if !n.blind.Load() {
		n.Live(pod)
	}
}

// until reads what the watch shows until it is as wanted.
func (n *statusNode) until(what string, wanted func(*v1.Pod) bool) {
	n.t.Helper()
	deadline := time.After(patience)
	for {
		select {
		case pod := <-n.shown:
			if wanted(pod) {
				return
			}
		case <-deadline:
			n.t.Fatalf("the API never showed %s; log:\n%s", what, n.log)
		}
	}
}

// pod makes a pod on the node, as a controller and the scheduler would.
func (n *statusNode) pod(name string, change ...func(*v1.Pod)) publish.Ref {
	n.t.Helper()
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: n.name + "-" + name},
		Spec: v1.PodSpec{
			NodeName:   n.name,
			Containers: []v1.Container{{Name: "main", Image: "lifepod.dev/toolbox:1"}},
		},
	}
	for _, f := range change {
		f(pod)
	}
	pod = assert.Get(n.admin.CoreV1().Pods("default").Create(n.t.Context(), pod, metav1.CreateOptions{})).Must(n.t)
	return publish.Ref{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID}
}

func (n *statusNode) read(name string) *v1.Pod {
	n.t.Helper()
	pod := assert.Get(n.admin.CoreV1().Pods("default").Get(n.t.Context(), name, metav1.GetOptions{})).Must(n.t)
	return pod
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// lines is a log.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
