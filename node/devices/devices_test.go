package devices

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	api "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/worker/criconfig"
)

// A-DEV-2: who may register.
func TestRegister(t *testing.T) {
	dir := folder(t)
	left := assert.Get(net.Listen("unix", filepath.Join(dir, "of-before.sock"))).Must(t)
	defer func() { _ = left.Close() }()
	n := begin(t, dir, func(c *Config) { c.Timeouts.Connect = 50 * time.Millisecond })
	_, err := os.Stat(filepath.Join(dir, "of-before.sock"))
	assert.True(t, os.IsNotExist(err), "A-DEV-2: the socket of a plugin that an agent before knew is there (%v): the plugin does not register again", err)
	for want, request := range map[string]*api.RegisterRequest{
		`requested API version "v1alpha" is not supported by kubelet. Supported version is ["v1beta1"]`: {Version: "v1alpha", ResourceName: gpu},
		`the ResourceName "gpu" is invalid`:                {Version: api.Version, ResourceName: "gpu"},
		`the ResourceName "kubernetes.io/gpu" is invalid`:  {Version: api.Version, ResourceName: "kubernetes.io/gpu"},
		"failed to get device plugin options: rpc error: ": {Version: api.Version, ResourceName: gpu, Endpoint: "nobody.sock"},
	} {
		assert.ErrorContains(t, want, n.register(request), "A-DEV-2")
	}
	assert.Fails(t, n.Validate("gpu", "", []string{"v1beta1"}), "A-PLUG-2: a plugin of no resource may register")
	assert.Fails(t, n.Validate(gpu, "", []string{"v2"}), "A-PLUG-2: a plugin of another version may register")
}

// A-DEV-1, A-DEV-5, A-DEV-9, A-DEV-10: a pod gets devices that nobody else has, keeps them
// over a restart of the agent, and gives them back.
func TestAllocate(t *testing.T) {
	dir := folder(t)
	n := begin(t, dir, nil)
	n.healthy("a.sock", "g0", "g1", "g2")
	first, second := podOf("first", "2"), podOf("second", "2")
	got := n.Allocate(t.Context(), first)
	assert.Require(t, got.Refusal == nil && slices.Equal(got.Given, []v1.ResourceName{gpu}), "A-DEV-5: %+v", got)
	assigned, err := n.Assigned(t.Context(), first, &first.Spec.Containers[0])
	want := criconfig.Assigned{
		Env: []criconfig.KeyValue{{Name: "HAS_g0", Value: "yes"}, {Name: "HAS_g1", Value: "yes"}}, Annotations: map[string]string{"devices": "given"},
		CDIDevices: []string{gpu + "=g0", gpu + "=g1"}, Devices: assigned.Devices,
	}
	assert.True(t, cmp.Diff(want.CDIDevices, assigned.CDIDevices) == "" && err == nil && len(assigned.Devices) == 2 && cmp.Equal(want.Env, assigned.Env),
		"A-DEV-1: assigned %+v, error %v", assigned, err)
	short := n.Allocate(t.Context(), second)
	const message = "Allocate failed due to requested number of devices unavailable for example.com/gpu. Requested: 2, Available: 1, which is unexpected"
	assert.Require(t, short.Refusal != nil && short.Refusal.Reason == "UnexpectedAdmissionError" && short.Refusal.Message == message && short.short,
		"A-DEV-8: %+v", short.Refusal)

	n.stop()
	n = begin(t, dir, nil) // and its plugin has not come back yet
	n.await(gpu, 0, 0)
	assert.Equal(t, "/dev/g0 /dev/g1 ", n.has(first, "main"), "A-DEV-10: after a restart of the agent")
	if got := n.Allocate(t.Context(), second); got.Refusal == nil || !strings.Contains(got.Refusal.Message, "no healthy devices present; cannot allocate unhealthy devices example.com/gpu") {
		t.Errorf("A-DEV-8: before its plugin is back: %+v", got.Refusal)
	}
	n.healthy("b.sock", "g0", "g1", "g2")
	assert.Deep(t, "held", []types.UID{"first"}, n.Held())
	n.Release("first")
	got = n.Allocate(t.Context(), second)
	assert.True(t, got.Refusal == nil, "A-DEV-9: what was given back is not given again: %+v", got.Refusal)
}

// A-DEV-6: later containers get the devices of regular init containers, sidecars keep theirs.
func TestInitContainers(t *testing.T) {
	n := begin(t, folder(t), nil)
	n.healthy("a.sock", "g0", "g1", "g2", "g3")
	pod := podOf("p", "2")
	sidecar := asking("sidecar", "1")
	sidecar.RestartPolicy = new(v1.ContainerRestartPolicyAlways)
	pod.Spec.InitContainers = []v1.Container{asking("init", "2"), sidecar, asking("last", "1")}
	if got := n.Allocate(t.Context(), pod); got.Refusal != nil {
		t.Fatal(got.Refusal)
	}
	got := map[string]string{}
	for _, name := range []string{"init", "sidecar", "last", "main"} {
		got[name] = n.has(pod, name)
	}
	want := map[string]string{"init": "/dev/g0 /dev/g1 ", "sidecar": "/dev/g0 ", "last": "/dev/g1 ", "main": "/dev/g1 /dev/g2 "}
	assert.Deep(t, "A-DEV-6", want, got)
}

// A-DEV-6, A-DEV-11: a plugin with preferences is asked, one that wants to know is told of each
// start.
func TestPreferredAndPreStart(t *testing.T) {
	n := begin(t, folder(t), nil)
	f := n.plugin("a.sock", func(f *devicesFake) {
		f.options = &api.DevicePluginOptions{GetPreferredAllocationAvailable: true, PreStartRequired: true}
		f.prefer = func(r *api.ContainerPreferredAllocationRequest) []string { return []string{"unknown", "g2"} }
	}, "g0", "g1", "g2")
	n.await(gpu, 3, 3)
	pod := podOf("p", "2")
	n.given(pod)
	for range 2 {
		assert.Equal(t, "/dev/g2 /dev/g0 ", n.has(pod, "main"), "A-DEV-6")
		assert.Deep(t, "A-DEV-11: told of", []string{"g0", "g2"}, <-f.started)
	}
	f.server.Stop()
	n.await(gpu, 3, 0)
	assert.Fails(t, assert.ErrorOf(n.Assigned(t.Context(), pod, &pod.Spec.Containers[0])), "A-DEV-11: a container begins whose plugin could not be told")
}

// A plugin that hangs holds up its own pod, for so long. Nothing stays taken. (A-DEV-8)
func TestHangs(t *testing.T) {
	n := begin(t, folder(t), func(c *Config) { c.Timeouts.Allocate = 300 * time.Millisecond })
	hung := make(chan struct{}, 1)
	n.plugin("a.sock", func(f *devicesFake) {
		f.allocate = func(ctx context.Context, ids []string) (*api.AllocateResponse, error) {
			if slices.Contains(ids, "g0") {
				hung <- struct{}{}
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return answer(ctx, ids)
		}
	}, "g0", "g1")
	n.await(gpu, 2, 2)
	slow := make(chan allocated)
	go func() { slow <- n.Allocate(context.Background(), podOf("slow", "1")) }()
	<-hung
	got := n.Allocate(t.Context(), podOf("quick", "1"))
	assert.True(t, got.Refusal == nil, "another pod waits for a plugin that hangs: %+v", got.Refusal)
	if got := <-slow; got.Refusal == nil || !strings.HasPrefix(got.Refusal.Message, "Allocate failed due to rpc error: code = DeadlineExceeded") {
		t.Errorf("A-DEV-8: %+v", got.Refusal)
	}
	assert.Deep(t, "held", []types.UID{"quick"}, n.Held())
}

// A-DEV-8: a plugin that answers nothing gives nothing.
func TestLies(t *testing.T) {
	n := begin(t, folder(t), nil)
	n.plugin("a.sock", func(f *devicesFake) {
		f.allocate = func(context.Context, []string) (*api.AllocateResponse, error) { return &api.AllocateResponse{}, nil }
	}, "g0", "g0", "")
	n.await(gpu, 2, 2)
	got := n.Allocate(t.Context(), podOf("p", "1"))
	assert.True(t, got.Refusal != nil && strings.Contains(got.Refusal.Message, "no containers return in allocation response") && len(n.Held()) == 0,
		"A-DEV-8: %+v, held %v", got.Refusal, n.Held())
}

// A-DEV-3, A-DEV-4: devices that break, a plugin that stops and one that does not come back.
func TestHealth(t *testing.T) {
	n := begin(t, folder(t), func(c *Config) { c.Timeouts.Stopped = 200 * time.Millisecond })
	assert.True(t, !n.KnewNode(), "A-DEV-4: a machine that is new is known")
	f := n.healthy("a.sock", "g0", "g1")
	n.given(podOf("p", "1"))
	f.lists <- append(devicesOf(api.Unhealthy, "g0"), devicesOf(api.Healthy, "g1")...)
	n.await(gpu, 2, 1)
	uid := <-n.health
	assert.True(t, uid == "p", "A-DEV-3: %s is told that its device is broken", uid)
	broken := map[string][]v1.ResourceStatus{"main": {{Name: gpu, Resources: []v1.ResourceHealth{{ResourceID: "g0", Health: v1.ResourceHealthStatusUnhealthy}}}}}
	assert.Deep(t, "A-DEV-12: health", broken, n.Health(podOf("p", "1")))
	f.lists <- nil // it ends ListAndWatch
	n.await(gpu, 2, 0)
	n.await(gpu, 0, 0)
	assert.Deep(t, "A-DEV-12: health while the plugin is away", broken, n.Health(podOf("p", "1")))
	capacity, _ := n.Capacity()
	assert.True(t, len(capacity) == 1, "A-DEV-4: capacity %v, want 0", capacity)
	assert.True(t, n.KnewNode() && n.has(podOf("p", "1"), "main") == "/dev/g0 ", "A-DEV-10: a container whose plugin is away has no devices")
	n.healthy("b.sock", "g0")
	assert.Equal(t, "p", <-n.health, "A-DEV-3: told that its device is healthy again")
	for want, pod := range map[v1.ResourceHealthStatus]types.UID{v1.ResourceHealthStatusHealthy: "p", "": "without"} {
		var got v1.ResourceHealthStatus
		for _, list := range n.Health(podOf(pod, "1")) {
			got = list[0].Resources[0].Health
		}
		assert.Equal(t, want, got, "A-DEV-12: the device of pod %q", pod)
	}
}

// Several plugins serve one resource, each at its socket; the last one is asked, and the resource is there as long as one of them is.
func TestSeveralPluginsOfAResource(t *testing.T) {
	n := begin(t, folder(t), nil)
	askedOf := func(socket string) func(*devicesFake) {
		return func(f *devicesFake) {
			f.allocate = func(ctx context.Context, ids []string) (*api.AllocateResponse, error) {
				given, err := answer(ctx, ids)
				given.ContainerResponses[0].Envs = map[string]string{"SOCKET": socket}
				return given, err
			}
		}
	}
	asked := func(pod types.UID, want string) {
		t.Helper()
		got := n.Allocate(t.Context(), podOf(pod, "1"))
		assert.Require(t, got.Refusal == nil, "A-DEV-2: %+v", got.Refusal)
		n.mu.Lock()
		defer n.mu.Unlock()
		if got := n.pods[pod]["main"][gpu].given.Envs["SOCKET"]; got != want {
			t.Errorf("A-DEV-2: %s was asked for the device of %s, want %s", got, pod, want)
		}
	}
	n.plugin("a.sock", askedOf("a"), "g0", "g1", "g2")
	n.await(gpu, 3, 3)
	b := n.plugin("b.sock", askedOf("b"), "g0", "g1", "g2", "g3")
	n.await(gpu, 4, 4)
	asked("p", "b")
	b.server.Stop()
	for late := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		n.mu.Lock()
		left := len(n.resources[gpu].plugins)
		n.mu.Unlock()
		if left == 1 {
			break
		}
		assert.Require(t, !time.Now().After(late), "A-DEV-4: the end of a plugin was not noticed")
	}
	n.await(gpu, 4, 4)
	asked("q", "a")
	n.Deregister(gpu, "/elsewhere")
	n.await(gpu, 4, 4)
	n.Deregister(gpu, filepath.Join(n.Config.Dir, "a.sock"))
	n.await(gpu, 4, 0) // A-DEV-4
}

// A plugin that begins anew at its socket takes its own place, also if its end was not noticed yet (A-DEV-2).
func TestRegistersAgain(t *testing.T) {
	n := begin(t, folder(t), nil)
	f := n.healthy("a.sock", "g0")
	assert.Must(t, os.Remove(filepath.Join(n.Config.Dir, "a.sock")))
	n.healthy("a.sock", "g0", "g1")
	f.server.Stop()
	got := n.Allocate(t.Context(), podOf("p", "2"))
	assert.True(t, got.Refusal == nil, "A-DEV-2: %+v", got.Refusal)
	n.await(gpu, 2, 2)
}

// A-DEV-5: what is asked for, and of whom.
func TestAsks(t *testing.T) {
	n := &node{Devices: New(Config{Dir: folder(t), Timeouts: DefaultTimeouts()})}
	pod := podOf("p", "1")
	assert.True(t, n.Asks(pod), "A-DEV-5: an extended resource is not asked for")
	claimed := podOf("p", "1")
	claimed.Status.ExtendedResourceClaimStatus = &v1.PodExtendedResourceClaimStatus{RequestMappings: []v1.ContainerExtendedResourceRequest{{ContainerName: "main", ResourceName: gpu}}}
	assert.True(t, !n.Asks(claimed), "A-DEV-5: what a claim answers for is asked for")
	got := n.Allocate(t.Context(), podOf("p", "1"))
	assert.True(t, got.Refusal == nil && len(got.Given) == 0, "A-DEV-5: a resource of no plugin is given: %+v", got)
}

// A-DRA-13: what is prepared, and what drivers are asked.
func TestInUse(t *testing.T) {
	pod := podNamed("p", named("a"), named("b"))
	n := claimsNewNode(t, claimFor("a", "gpu.example.com", pod), claimFor("b", "nic.example.com", pod))
	asked := map[string]int{}
	n.config.Counted = func(driver string) grpc.DialOption {
		return grpc.WithChainUnaryInterceptor(func(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn, next grpc.UnaryInvoker, options ...grpc.CallOption) error {
			asked[driver+" "+method]++
			return next(ctx, method, request, reply, conn, options...)
		})
	}
	n.restart()
	check := func(want map[string]int) {
		t.Helper()
		assert.Deep(t, "A-DRA-13: in use", want, n.InUse())
	}
	check(map[string]int{"<any>": 0})
	n.register(serve(t, "gpu.example.com", nil))
	n.register(serve(t, "nic.example.com", nil))
	assert.Must(t, n.Prepare(t.Context(), pod))
	check(map[string]int{"<any>": 2, "gpu.example.com": 1, "nic.example.com": 1})
	assert.Must(t, n.Unprepare(t.Context(), pod.UID))
	check(map[string]int{"<any>": 0})
	want := map[string]int{}
	for _, driver := range []string{"gpu.example.com", "nic.example.com"} {
		for _, method := range []string{"NodePrepareResources", "NodeUnprepareResources"} {
			want[driver+" /k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/"+method] = 1
		}
	}
	assert.Deep(t, "A-DRA-13: asked", want, asked)
}

// A-DEV-11: a container whose devices are not known any more gets some before it is created; if it can't,
// it is not, and nothing is taken.
func TestNotKnownAnyMore(t *testing.T) {
	dir := folder(t)
	n := begin(t, dir, nil)
	n.healthy("a.sock", "g0", "g1")
	n.given(podOf("p", "1"))
	n.stop()
	assert.Must(t, os.WriteFile(n.path(), []byte("damaged"), 0o600))
	n = begin(t, dir, nil)
	n.healthy("b.sock", "g0", "g1")
	assert.NoError(t, assert.ErrorOf(os.Stat(n.path()+".damaged")), "B-RST-18: the damaged checkpoint is not kept")
	assert.Equal(t, "/dev/g0 /dev/g1 ", n.has(podOf("p", "2"), "main"), "A-DEV-11")
	late := podOf("late", "1")
	assert.ErrorContains(t, "requested number of devices unavailable", assert.ErrorOf(n.Assigned(t.Context(), late, &late.Spec.Containers[0])), "A-DEV-11: a container is created without its devices")
	n.Release("p")
	assert.Equal(t, "/dev/g0 ", n.has(late, "main"), "A-DEV-11")
}

// A-DEV-8: what can't be written down is not given.
func TestCheckpointFails(t *testing.T) {
	dir := folder(t)
	n := begin(t, dir, nil)
	assert.Must(t, os.MkdirAll(filepath.Join(n.path(), "in the way"), 0o700))
	n.healthy("a.sock", "g0")
	got := n.Allocate(t.Context(), podOf("p", "1"))
	const want = `Allocate failed due to failed to write checkpoint file "kubelet_internal_checkpoint": `
	assert.True(t, got.Refusal != nil && strings.HasPrefix(got.Refusal.Message, want) && len(n.Held()) == 0,
		"A-DEV-8: refusal %+v, held %v", got.Refusal, n.Held())
}

// A-DEV-8: a plugin that wants to be asked which devices are best, and fails then, gives none.
func TestPreferenceFails(t *testing.T) {
	n := begin(t, folder(t), nil)
	n.plugin("a.sock", func(f *devicesFake) {
		f.options, f.silent = &api.DevicePluginOptions{GetPreferredAllocationAvailable: true}, true
	}, "g0", "g1")
	n.await(gpu, 2, 2)
	got := n.Allocate(t.Context(), podOf("p", "1"))
	const want = "Allocate failed due to device plugin GetPreferredAllocation rpc failed with err: rpc error: "
	assert.True(t, got.Refusal != nil && strings.HasPrefix(got.Refusal.Message, want) && len(n.Held()) == 0,
		"A-DEV-8: refusal %+v, held %v", got.Refusal, n.Held())
}
