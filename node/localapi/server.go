package localapi

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/time/rate"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	api "k8s.io/kubelet/pkg/apis/podresources/v1"
	"k8s.io/kubelet/pkg/apis/podresources/v1alpha1"
)

// Config is what a Server tells of.
type Config struct {
	// Pods are all pods of the node, by namespace and name.
	Pods    func() []Pod
	Devices Devices
	// Exclusive are the CPUs and the memory that containers have for themselves; nil: none has any.
	Exclusive Exclusive
	// Claims are the devices of a container's resource claims; nil: there are none.
	Claims func(pod *v1.Pod, container *v1.Container) []*api.DynamicResource
}

// Pod is a pod of the node.
type Pod struct {
	*v1.Pod
	// Active: it has not ended, and may have something of the node (A-DEV-13).
	Active bool
}

// Devices are those of device plugins (package node/devices).
type Devices interface {
	Given(uid types.UID, container string) []*api.ContainerDevices
	// Usable are all that pods have or could get.
	Usable() []*api.ContainerDevices
}

// Exclusive are CPUs and memory that are given to containers for themselves.
type Exclusive interface {
	CPUs(uid types.UID, container string) []int64
	Memory(uid types.UID, container string) []*api.ContainerMemory
	// All are those that containers have or could get.
	All() (cpus []int64, memory []*api.ContainerMemory)
}

// PodResources answers.
type PodResources struct {
	api.UnsafePodResourcesListerServer
	Config
	counts
}

// NewPodResources makes a server; Listen comes next.
func NewPodResources(c Config) *PodResources {
	return &PodResources{Config: c, counts: newResourceCounts()}
}

// List tells of all pods that are active (A-DEV-13).
func (s *PodResources) List(context.Context, *api.ListPodResourcesRequest) (*api.ListPodResourcesResponse, error) {
	s.asked("requests_list")
	answer := &api.ListPodResourcesResponse{}
	for _, pod := range s.Pods() {
		if pod.Active {
			answer.PodResources = append(answer.PodResources, s.ofPod(pod.Pod))
		}
	}
	return answer, nil
}

// Get tells of one pod (A-DEV-13).
func (s *PodResources) Get(_ context.Context, r *api.GetPodResourcesRequest) (*api.GetPodResourcesResponse, error) {
	s.asked("requests_get")
	for _, pod := range s.Pods() {
		if pod.Active && pod.Namespace == r.GetPodNamespace() && pod.Name == r.GetPodName() {
			return &api.GetPodResourcesResponse{PodResources: s.ofPod(pod.Pod)}, nil
		}
	}
	s.counts["errors_get"].WithLabelValues("v1").Inc()
	return nil, fmt.Errorf("pod %s in namespace %s not found", r.GetPodName(), r.GetPodNamespace())
}

// GetAllocatableResources tells of all that the node has, given or not (A-DEV-14).
func (s *PodResources) GetAllocatableResources(context.Context, *api.AllocatableResourcesRequest) (*api.AllocatableResourcesResponse, error) {
	s.asked("requests_get_allocatable")
	answer := &api.AllocatableResourcesResponse{Devices: s.Devices.Usable()}
	if s.Exclusive != nil {
		answer.CpuIds, answer.Memory = s.Exclusive.All()
	}
	return answer, nil
}

// ofPod are the sidecars and the regular containers of a pod.
func (s *PodResources) ofPod(pod *v1.Pod) *api.PodResources {
	all := &api.PodResources{Name: pod.Name, Namespace: pod.Namespace}
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		if c.RestartPolicy != nil && *c.RestartPolicy == v1.ContainerRestartPolicyAlways {
			all.Containers = append(all.Containers, s.ofContainer(pod, c))
		}
	}
	for i := range pod.Spec.Containers {
		all.Containers = append(all.Containers, s.ofContainer(pod, &pod.Spec.Containers[i]))
	}
	return all
}

func (s *PodResources) ofContainer(pod *v1.Pod, c *v1.Container) *api.ContainerResources {
	all := &api.ContainerResources{Name: c.Name, Devices: s.Devices.Given(pod.UID, c.Name)}
	if s.Exclusive != nil {
		all.CpuIds, all.Memory = s.Exclusive.CPUs(pod.UID, c.Name), s.Exclusive.Memory(pod.UID, c.Name)
	}
	if s.Claims != nil {
		all.DynamicResources = s.Claims(pod, c)
	}
	return all
}

// alpha is the API's first version, which tells of the devices of device plugins.
type alpha struct {
	v1alpha1.UnsafePodResourcesListerServer
	server *PodResources
}

// List tells of all pods, whether they have ended or not, without sidecars (A-DEV-15).
func (a alpha) List(context.Context, *v1alpha1.ListPodResourcesRequest) (*v1alpha1.ListPodResourcesResponse, error) {
	s := a.server
	s.counts["requests_total"].WithLabelValues("v1alpha1").Inc()
	answer := &v1alpha1.ListPodResourcesResponse{}
	for _, pod := range s.Pods() {
		all := &v1alpha1.PodResources{Name: pod.Name, Namespace: pod.Namespace}
		for i := range pod.Spec.Containers {
			c := &v1alpha1.ContainerResources{Name: pod.Spec.Containers[i].Name}
			for _, given := range s.Devices.Given(pod.UID, c.Name) {
				c.Devices = append(c.Devices, &v1alpha1.ContainerDevices{ResourceName: given.ResourceName, DeviceIds: given.DeviceIds})
			}
			all.Containers = append(all.Containers, c)
		}
		answer.PodResources = append(answer.PodResources, all)
	}
	return answer, nil
}

// PodResourcesSocket is the name of the socket in its folder.
const PodResourcesSocket = "kubelet.sock"

// Listen makes the socket in a folder, in the place of that of an agent before. What it returns serves
// until ctx ends.
func (s *PodResources) Listen(dir string) (serve func(context.Context) error, err error) {
	return Listen(filepath.Join(dir, PodResourcesSocket), func(to grpc.ServiceRegistrar) {
		api.RegisterPodResourcesListerServer(to, s)
		v1alpha1.RegisterPodResourcesListerServer(to, alpha{server: s})
	})
}

// How many requests of an API are answered, as in the kubelet.
const (
	perSecond = 100
	atOnce    = 10
)

// Listen makes a socket, in the place of that of an agent before. What it returns serves
// what register has registered, until ctx ends.
func Listen(path string, register func(grpc.ServiceRegistrar)) (serve func(context.Context) error, err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return nil, fmt.Errorf("folder of a socket: %w", err)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("socket of an agent before: %w", err)
	}
	listener, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	server := grpc.NewServer(grpc.UnaryInterceptor(limited(rate.NewLimiter(perSecond, atOnce))))
	register(server)
	return func(ctx context.Context) error {
		stop := context.AfterFunc(ctx, server.Stop)
		defer stop()
		if err := server.Serve(listener); err != nil && !errors.Is(err, grpc.ErrServerStopped) {
			return fmt.Errorf("serve at %s: %w", path, err)
		}
		return nil
	}, nil
}

// limited refuses what comes too often: nobody who asks may keep the node from its work.
func limited(limiter *rate.Limiter) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, request any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		if !limiter.Allow() {
			return nil, status.Error(codes.ResourceExhausted, "rejected by rate limit")
		}
		return next(ctx, request)
	}
}

// counts are those of requests, by what their names end with (A-DEV-15, A-NODE-8).
type counts map[string]*prometheus.CounterVec

// newCounts has counters with some labels; of says what each counts.
func newCounts(prefix string, of map[string]string, by string, labels ...string) counts {
	c := counts{}
	for name, help := range of {
		c[name] = prometheus.NewCounterVec(prometheus.CounterOpts{Name: prefix + name, Help: help + by}, labels)
	}
	return c
}

// Collectors are the metrics of the API.
func (c counts) Collectors() (list []prometheus.Collector) {
	for _, counter := range c {
		list = append(list, counter)
	}
	return list
}

func newResourceCounts() counts {
	return newCounts("kubelet_pod_resources_endpoint_", map[string]string{
		"requests_total":           "Cumulative number of requests to the PodResource endpoint.",
		"requests_list":            "Number of requests to the PodResource List endpoint.",
		"requests_get":             "Number of requests to the PodResource Get endpoint.",
		"errors_get":               "Number of requests to the PodResource Get endpoint which returned error.",
		"requests_get_allocatable": "Number of requests to the PodResource GetAllocatableResources endpoint.",
	}, " Broken down by server api version.", "server_api_version")
}

// asked counts a request.
func (c counts) asked(method string) {
	c["requests_total"].WithLabelValues("v1").Inc()
	c[method].WithLabelValues("v1").Inc()
}

func newPodsCounts() counts {
	return newCounts("kubelet_pod_requests_", map[string]string{
		"total":       "Cumulative number of requests to the PodsAPI endpoint.",
		"list_total":  "Number of requests to the PodsAPI List endpoint.",
		"get_total":   "Number of requests to the PodsAPI Get endpoint.",
		"watch_total": "Number of requests to the PodsAPI Watch endpoint.",
	}, " Broken down by server api version and status code.", "server_api_version", "status_code")
}

// answered counts a request that was answered; a watch, when it has ended.
func (c counts) answered(method string, err error) {
	code := status.Code(err)
	if errors.Is(err, context.Canceled) {
		code = codes.Canceled
	}
	c["total"].WithLabelValues("v1alpha1", code.String()).Inc()
	c[method].WithLabelValues("v1alpha1", code.String()).Inc()
}
