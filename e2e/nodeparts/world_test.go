package nodeparts

import (
	"context"
	"log/slog"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/e2e/machine"
	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/node/register"
)

// patience is how long anything may take before a test gives up.
var patience = machine.Patience

// container runtime that is there or not.
type fakeRuntime struct {
	mu   sync.Mutex
	lost bool
}

func (f *fakeRuntime) set(lost bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lost = lost
}

func (f *fakeRuntime) Status(context.Context, *runtimeapi.StatusRequest, ...grpc.CallOption) (*runtimeapi.StatusResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.lost {
		return nil, status.Error(codes.Unavailable, "connection refused")
	}
	return &runtimeapi.StatusResponse{Status: &runtimeapi.RuntimeStatus{Conditions: []*runtimeapi.RuntimeCondition{
		{Type: runtimeapi.RuntimeReady, Status: true}, {Type: runtimeapi.NetworkReady, Status: true},
	}}}, nil
}

func (f *fakeRuntime) Version(context.Context, *runtimeapi.VersionRequest, ...grpc.CallOption) (*runtimeapi.VersionResponse, error) {
	return &runtimeapi.VersionResponse{RuntimeName: "containerd", RuntimeVersion: "v2.4.2"}, nil
}

func (f *fakeRuntime) ListImages(context.Context, *runtimeapi.ListImagesRequest, ...grpc.CallOption) (*runtimeapi.ListImagesResponse, error) {
	return &runtimeapi.ListImagesResponse{Images: []*runtimeapi.Image{{Id: "1", RepoTags: []string{"toolbox:1"}, Size: 7}}}, nil
}

// clientOf is one with the rights of a node, as the agent's; change may change its connection.
func clientOf(t testing.TB, node string, change ...func(*rest.Config)) kubernetes.Interface {
	t.Helper()
	file := assert.Get(plane.NodeKubeconfig(node)).Must(t)
	config := assert.Get(clientcmd.BuildConfigFromFlags("", file)).Must(t)
	for _, f := range change {
		f(config)
	}
	return newClient(t, config)
}

func newClient(t testing.TB, config *rest.Config) kubernetes.Interface {
	t.Helper()
	config.QPS = -1
	config.ContentType = "application/vnd.kubernetes.protobuf"
	client := assert.Get(kubernetes.NewForConfig(config)).Must(t)
	return client
}

// admin is an administrator.
func admin(t testing.TB) kubernetes.Interface { return newClient(t, plane.RESTConfig()) }

// running is a node that is kept by package register.
type running struct {
	*register.Node
	runtime *fakeRuntime
	stop    func()
}

// run keeps a node until the test ends, or stop is called.
func run(t *testing.T, name string, change func(*register.Config)) *running {
	t.Helper()
	runtime := &fakeRuntime{}
	config := register.Config{
		Name: name, Port: 10250, MaxImages: 50, FeatureGates: register.FeaturesOn(),
		Resources: register.Resources{RootDir: t.TempDir(), MaxPods: 110},
		API:       register.API{Client: clientOf(t, name)},
		Runtime:   register.Runtime{Service: runtime, Images: runtime},
		Log:       slog.New(slog.NewTextHandler(t.Output(), nil)),
	}
	if change != nil {
		change(&config)
	}
	node := assert.Get(register.New(config)).Must(t)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); node.Run(ctx) }()
	stop := func() { cancel(); <-done }
	t.Cleanup(stop)
	return &running{node, runtime, stop}
}

// await watches a node until it is as wanted, and returns it.
func await(t *testing.T, name, what string, wanted func(*v1.Node) bool) *v1.Node {
	t.Helper()
	ctx := assert.Context(t, patience)
	nodes := newClient(t, plane.RESTConfig()).CoreV1().Nodes()
	for ctx.Err() == nil {
		changes, err := nodes.Watch(ctx, metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", name).String()})
		if err != nil {
			continue
		}
		for change := range changes.ResultChan() {
			if node, ok := change.Object.(*v1.Node); ok && wanted(node) {
				changes.Stop()
				return node
			}
		}
	}
	t.Fatalf("node %s: waited in vain for: %s", name, what)
	return nil
}

func isReady(node *v1.Node) bool { return machine.NodeReady(node).Status == v1.ConditionTrue }
