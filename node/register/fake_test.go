package register

import (
	"context"
	"errors"
	"log/slog"
	"net"
	goruntime "runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/utils/cpuset"

	"github.com/lifepod/lifepod/internal/assert"
)

// fakeRuntime is a container runtime that says what it is told to.
type fakeRuntime struct {
	mu      sync.Mutex
	down    error
	hangs   bool // it doesn't tell its status
	network bool
	images  []*runtimeapi.Image
	asked   int
}

func (f *fakeRuntime) Status(ctx context.Context, _ *runtimeapi.StatusRequest, _ ...grpc.CallOption) (*runtimeapi.StatusResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked++
	if f.hangs {
		<-ctx.Done()
		return nil, errSlow
	}
	if f.down != nil {
		return nil, f.down
	}
	network := &runtimeapi.RuntimeCondition{Type: runtimeapi.NetworkReady, Status: f.network}
	if !f.network {
		network.Reason, network.Message = "NetworkPluginNotReady", "Network plugin returns error: cni plugin not initialized"
	}
	return &runtimeapi.StatusResponse{
		Status: &runtimeapi.RuntimeStatus{Conditions: []*runtimeapi.RuntimeCondition{
			{Type: runtimeapi.RuntimeReady, Status: true}, network,
		}},
		RuntimeHandlers: []*runtimeapi.RuntimeHandler{
			{Name: "runc", Features: &runtimeapi.RuntimeHandlerFeatures{RecursiveReadOnlyMounts: true, UserNamespaces: true}},
			{Name: ""},
		},
		Features: &runtimeapi.RuntimeFeatures{SupplementalGroupsPolicy: true},
	}, nil
}

func (f *fakeRuntime) Version(context.Context, *runtimeapi.VersionRequest, ...grpc.CallOption) (*runtimeapi.VersionResponse, error) {
	return &runtimeapi.VersionResponse{RuntimeName: "containerd", RuntimeVersion: "v2.4.2"}, nil
}

func (f *fakeRuntime) ListImages(context.Context, *runtimeapi.ListImagesRequest, ...grpc.CallOption) (*runtimeapi.ListImagesResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return &runtimeapi.ListImagesResponse{Images: f.images}, f.down
}

// set changes what the runtime says.
func (f *fakeRuntime) set(change func(*fakeRuntime)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(f)
}

var (
	errUnavailable = status.Error(codes.Unavailable, "connection refused")
	errSlow        = status.Error(codes.DeadlineExceeded, "context deadline exceeded")
	errNoAnswer    = errors.New("dial tcp 10.0.0.1:6443: connect: connection refused")
)

// world is a node with a fake runtime and a fake API server, in a synctest bubble.
type world struct {
	t       *testing.T
	client  *fake.Clientset
	runtime *fakeRuntime
	node    *Node

	mu     sync.Mutex
	away   error // what the API server answers to everything
	events []string
	writes []string // verb and resource of writes that the API server took
	under  map[v1.NodeConditionType]bool
}

// inWorld runs a test in virtual time, with a world of these objects.
func inWorld(t *testing.T, test func(t *testing.T, w *world), objects ...runtime.Object) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t, newWorld(t, nil, objects...)) })
}

// newWorld is one with objects in the API; change may change its configuration.
func newWorld(t *testing.T, change func(*Config), objects ...runtime.Object) *world {
	t.Helper()
	w := &world{t: t, client: fake.NewClientset(objects...), runtime: &fakeRuntime{network: true}, under: map[v1.NodeConditionType]bool{}}
	w.client.PrependReactor("*", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.away != nil {
			return true, nil, w.away
		}
		if verb := action.GetVerb(); verb != "get" && verb != "list" {
			w.writes = append(w.writes, strings.Trim(verb+" "+action.GetResource().Resource+"/"+action.GetSubresource(), "/"))
		}
		return false, nil, nil
	})
	config := Config{
		Name:         "node-1",
		Port:         10250,
		MaxImages:    50,
		FeatureGates: FeaturesOn(),
		Resources:    Resources{MaxPods: 110},
		API:          API{Client: w.client},
		Runtime:      Runtime{Service: w.runtime, Images: w.runtime},
		Senses: Senses{
			Pressure: func(c v1.NodeConditionType) bool { w.mu.Lock(); defer w.mu.Unlock(); return w.under[c] },
			Event: func(kind, reason, message string) {
				w.mu.Lock()
				defer w.mu.Unlock()
				w.events = append(w.events, kind+" "+reason+": "+message)
			},
		},
		Log: slog.New(slog.DiscardHandler),
	}
	if change != nil {
		change(&config)
	}
	node := assert.Get(newNode(config, testMachine)).Must(t)
	node.addresses = testFinder(config.Name, config.NodeIPs...)
	w.node = node
	return w
}

var testMachine = Machine{
	CPUs: cpuset.New(0, 1, 2, 3), MemoryBytes: 16 << 30, StorageBytes: 100 << 30,
	MachineID: "machine", SystemUUID: "system", BootID: "boot", Kernel: "6.12", OSImage: "Debian GNU/Linux 13 (trixie)",
}

// start runs the node until the test ends.
func (w *world) start() {
	assert.Runs(w.t, w.node.Run)
	synctest.Wait()
}

// fetch is the API's Node.
func (w *world) fetch() *v1.Node {
	w.t.Helper()
	object := assert.Get(w.client.Tracker().Get(schema.GroupVersionResource{Version: "v1", Resource: "nodes"}, "", "node-1")).Must(w.t)
	node := object.(*v1.Node).DeepCopy()
	node.ManagedFields = nil
	return node
}

// lease is the API's Lease; nil: there is none.
func (w *world) lease() *coordinationv1.Lease {
	w.t.Helper()
	object, err := w.client.Tracker().Get(schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}, "kube-node-lease", "node-1")
	if apierrors.IsNotFound(err) {
		return nil
	}
	assert.Must(w.t, err)
	return object.(*coordinationv1.Lease)
}

// edit changes the API's Node as somebody else would.
func (w *world) edit(change func(*v1.Node)) {
	w.t.Helper()
	node := w.fetch().DeepCopy()
	change(node)
	assert.Must(w.t, w.client.Tracker().Update(schema.GroupVersionResource{Version: "v1", Resource: "nodes"}, node, ""))
	synctest.Wait()
}

// ready is the API's Ready condition, as "status reason: message".
func (w *world) ready() string {
	w.t.Helper()
	c := conditionOf(w.fetch(), v1.NodeReady)
	if c == nil {
		return "none"
	}
	return string(c.Status) + " " + c.Reason + ": " + c.Message
}

// takeEvents are the events since the last time.
func (w *world) takeEvents() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := w.events
	w.events = nil
	return out
}

// takeWrites counts the writes since the last time.
func (w *world) takeWrites() map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := map[string]int{}
	for _, write := range w.writes {
		out[write]++
	}
	w.writes = nil
	return out
}

// setAway makes the API server answer everything with err; nil brings it back.
func (w *world) setAway(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.away = err
}

func errForbidden(resource string) error {
	return apierrors.NewForbidden(schema.GroupResource{Resource: resource}, "node-1", errors.New("not yet"))
}

func existingNode() *v1.Node {
	return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1", UID: "uid-1", Labels: map[string]string{}}}
}

// watcher and watchNodes let a test end the node's watch.
type watcher = watch.RaceFreeFakeWatcher

func watchNodes(w *world, watches chan<- *watcher) {
	w.client.PrependWatchReactor("nodes", func(clienttesting.Action) (bool, watch.Interface, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.away != nil {
			return true, nil, w.away
		}
		changes := watch.NewRaceFreeFake()
		watches <- changes
		return true, changes, nil
	})
}

type runtimeImage = runtimeapi.Image

const goarch = goruntime.GOARCH

// testFinder finds addresses on a machine that has 10.0.0.7, fd00::7 and a
// default route by 10.0.0.7, and in a DNS that knows nobody.
func testFinder(name string, ips ...net.IP) *finder {
	has := []net.IP{net.ParseIP("10.0.0.7"), net.ParseIP("fd00::7")}
	return &finder{
		name: name, ips: ips,
		onThisMachine: func(ip net.IP) error {
			for _, own := range has {
				if own.Equal(ip) {
					return nil
				}
			}
			return errors.New("no network interface of this machine has it")
		},
		lookup: func(context.Context, string, string) ([]net.IP, error) { return nil, errors.New("no such host") },
		gateway: func(family net.IP) (net.IP, error) {
			if family != nil && family.To4() == nil {
				return has[1], nil
			}
			return has[0], nil
		},
	}
}
