package localapi

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	dto "github.com/prometheus/client_model/go"
	"golang.org/x/time/rate"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/testing/protocmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	api "k8s.io/kubelet/pkg/apis/podresources/v1"
	"k8s.io/kubelet/pkg/apis/podresources/v1alpha1"

	"github.com/lifepod/lifepod/internal/assert"
)

// given is what the containers of a node have: each something with its own name.
type given struct{}

func (given) Given(uid types.UID, container string) []*api.ContainerDevices {
	return []*api.ContainerDevices{{ResourceName: "example.com/gpu", DeviceIds: []string{string(uid) + "-" + container}}}
}

func (given) Usable() []*api.ContainerDevices { return given{}.Given("any", "any") }

func (given) CPUs(types.UID, string) []int64 { return []int64{2, 3} }

func (given) Memory(types.UID, string) []*api.ContainerMemory {
	return []*api.ContainerMemory{{MemoryType: "memory", Size: 64}}
}

func (given) All() ([]int64, []*api.ContainerMemory) {
	return []int64{1, 2, 3}, []*api.ContainerMemory{{MemoryType: "memory", Size: 128}}
}

func ofClaims(_ *v1.Pod, c *v1.Container) []*api.DynamicResource {
	return []*api.DynamicResource{{ClaimName: c.Name, ClaimNamespace: "default"}}
}

// podresourcesPod has a regular init container, a sidecar and a regular container.
func podresourcesPod(name string, active bool) Pod {
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name)}}
	p.Spec.InitContainers = []v1.Container{{Name: "first"}, {Name: "sidecar", RestartPolicy: new(v1.ContainerRestartPolicyAlways)}}
	p.Spec.Containers = []v1.Container{{Name: "main"}}
	return Pod{Pod: p, Active: active}
}

// dial has something serve at a socket, where one of an agent before is, and connects to it.
func dial(t *testing.T, socket string, listen func(dir string) (func(context.Context) error, error)) *grpc.ClientConn {
	t.Helper()
	dir := assert.Get(os.MkdirTemp("", "lp-api-")).Must(t) // a short one: the path of a socket has at most 107 bytes
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	left := assert.Get(net.Listen("unix", filepath.Join(dir, socket))).Must(t)
	t.Cleanup(func() { _ = left.Close() })
	serve := assert.Get(listen(dir)).Must(t)
	assert.Serves(t, serve)
	connection := assert.Get(grpc.NewClient("unix:"+filepath.Join(dir, socket), grpc.WithTransportCredentials(insecure.NewCredentials()))).Must(t)
	t.Cleanup(func() { _ = connection.Close() })
	return connection
}

func newServer(exclusive Exclusive) *PodResources {
	return NewPodResources(Config{
		Pods: func() []Pod {
			return []Pod{podresourcesPod("a", true), podresourcesPod("ended", false), podresourcesPod("b", true)}
		},
		Devices: given{}, Claims: ofClaims, Exclusive: exclusive,
	})
}

// A-DEV-13, A-DEV-14: what is told of pods, and of the node.
func TestServer(t *testing.T) {
	s := newServer(given{})
	client := api.NewPodResourcesListerClient(dial(t, PodResourcesSocket, s.Listen))
	container := func(pod, name string) *api.ContainerResources {
		return &api.ContainerResources{
			Name: name, Devices: given{}.Given(types.UID(pod), name), CpuIds: []int64{2, 3},
			Memory: given{}.Memory("", ""), DynamicResources: ofClaims(nil, &v1.Container{Name: name}),
		}
	}
	of := func(name string) *api.PodResources {
		return &api.PodResources{Namespace: "default", Name: name, Containers: []*api.ContainerResources{container(name, "sidecar"), container(name, "main")}}
	}
	list, err := client.List(t.Context(), &api.ListPodResourcesRequest{})
	diff := cmp.Diff([]*api.PodResources{of("a"), of("b")}, list.GetPodResources(), protocmp.Transform())
	assert.True(t, diff == "" && err == nil, "A-DEV-13: list, error %v (-want +got):\n%s", err, diff)
	got, err := client.Get(t.Context(), &api.GetPodResourcesRequest{PodNamespace: "default", PodName: "b"})
	diff = cmp.Diff(of("b"), got.GetPodResources(), protocmp.Transform())
	assert.True(t, diff == "" && err == nil, "A-DEV-13: get, error %v (-want +got):\n%s", err, diff)
	for name, want := range map[string]string{"ended": "pod ended in namespace default not found", "none": "pod none in namespace default not found"} {
		_, err := client.Get(t.Context(), &api.GetPodResourcesRequest{PodNamespace: "default", PodName: name})
		assert.True(t, status.Convert(err).Message() == want, "A-DEV-13: error %v, want %s", err, want)
	}
	all, err := client.GetAllocatableResources(t.Context(), &api.AllocatableResourcesRequest{})
	want := &api.AllocatableResourcesResponse{Devices: given{}.Usable(), CpuIds: []int64{1, 2, 3}, Memory: []*api.ContainerMemory{{MemoryType: "memory", Size: 128}}}
	diff = cmp.Diff(want, all, protocmp.Transform())
	assert.True(t, diff == "" && err == nil, "A-DEV-14: error %v (-want +got):\n%s", err, diff)
	for name, want := range map[string]float64{"requests_total": 5, "requests_list": 1, "requests_get": 3, "errors_get": 2, "requests_get_allocatable": 1} {
		var counted dto.Metric
		if err := s.counts[name].WithLabelValues("v1").Write(&counted); err != nil || counted.Counter.GetValue() != want {
			t.Errorf("A-DEV-15: %s is %v, want %v (%v)", name, counted.Counter.GetValue(), want, err)
		}
	}
}

// A-DEV-13: a node whose containers have no CPUs and memory of their own tells of none.
func TestNothingExclusive(t *testing.T) {
	client := api.NewPodResourcesListerClient(dial(t, PodResourcesSocket, newServer(nil).Listen))
	got := assert.Get(client.Get(t.Context(), &api.GetPodResourcesRequest{PodNamespace: "default", PodName: "a"})).Must(t)
	all, err := client.GetAllocatableResources(t.Context(), &api.AllocatableResourcesRequest{})
	main := got.PodResources.Containers[1]
	assert.True(t, err == nil && len(main.CpuIds)+len(main.Memory)+len(all.CpuIds)+len(all.Memory) == 0, "A-DEV-13: %v and %v, error %v", main, all, err)
}

// A-DEV-15: the first version tells of the devices of all pods.
func TestFirstVersion(t *testing.T) {
	list, err := v1alpha1.NewPodResourcesListerClient(dial(t, PodResourcesSocket, newServer(nil).Listen)).List(t.Context(), &v1alpha1.ListPodResourcesRequest{})
	var want []*v1alpha1.PodResources
	for _, name := range []string{"a", "ended", "b"} {
		want = append(want, &v1alpha1.PodResources{Namespace: "default", Name: name, Containers: []*v1alpha1.ContainerResources{
			{Name: "main", Devices: []*v1alpha1.ContainerDevices{{ResourceName: "example.com/gpu", DeviceIds: []string{name + "-main"}}}},
		}})
	}
	diff := cmp.Diff(want, list.GetPodResources(), protocmp.Transform())
	assert.True(t, diff == "" && err == nil, "A-DEV-15: error %v (-want +got):\n%s", err, diff)
}

// A-DEV-15: ten requests at once are answered, then one every 10 ms.
func TestLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limit := limited(rate.NewLimiter(perSecond, atOnce))
		answered := func() (n int) {
			for range 50 {
				answer, err := limit(t.Context(), "asked", nil, func(_ context.Context, request any) (any, error) { return request, nil })
				switch {
				case err == nil && answer == "asked":
					n++
				case status.Code(err) != codes.ResourceExhausted || status.Convert(err).Message() != "rejected by rate limit":
					t.Fatalf("A-DEV-15: error %v", err)
				}
			}
			return n
		}
		n := answered()
		assert.True(t, n == 10, "A-DEV-15: %d are answered at once, want 10", n)
		time.Sleep(30 * time.Millisecond)
		assert.Equal(t, 3, answered(), "A-DEV-15: answered after 30 ms")
	})
}
