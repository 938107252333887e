package controllers

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/kubernetes/pkg/controller/garbagecollector/config"
)

type oneClient struct {
	c      Config
	shared *sharedDiscovery
}

func (o oneClient) Config(string) (*rest.Config, error) { return rest.CopyConfig(o.c.Loopback), nil }

func (o oneClient) ConfigOrDie(string) *rest.Config { return rest.CopyConfig(o.c.Loopback) }

func (o oneClient) Client(string) (kubernetes.Interface, error) { return o.c.Client, nil }

func (o oneClient) ClientOrDie(string) kubernetes.Interface { return o.c.Client }

func (o oneClient) DiscoveryClient(name string) (discovery.DiscoveryInterface, error) {
	if name == collectorClient || name == quotaClient {
		return o.shared, nil
	}
	return o.c.Client.Discovery(), nil
}

// Controllers that ask for all resources at the start, and again every 30 s, at the same time.
const (
	collectorClient = "generic-garbage-collector"
	quotaClient     = "resourcequota-controller"
)

// discoveryAge is how old may be what one of them has asked for when another one asks.
const discoveryAge = 2 * time.Second

// sharedDiscovery asks the API server for all resources once for all who want them within
// discoveryAge.
type sharedDiscovery struct {
	discovery.CachedDiscoveryInterface

	mu    sync.Mutex
	asked time.Time
}

func (s *sharedDiscovery) ServerPreferredResources() ([]*metav1.APIResourceList, error) {
	s.refresh()
	return s.CachedDiscoveryInterface.ServerPreferredResources()
}

func (s *sharedDiscovery) ServerPreferredNamespacedResources() ([]*metav1.APIResourceList, error) {
	s.refresh()
	return s.CachedDiscoveryInterface.ServerPreferredNamespacedResources()
}

func (s *sharedDiscovery) refresh() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := time.Now(); now.Sub(s.asked) > discoveryAge {
		s.asked = now
		s.Invalidate()
	}
}

func (o oneClient) DiscoveryClientOrDie(string) discovery.DiscoveryInterface {
	return o.c.Client.Discovery()
}

func gcResource(r schema.GroupResource) config.GroupResource {
	return config.GroupResource{Group: r.Group, Resource: r.Resource}
}

// Trim is for informers: who changed which field is of use to nobody here.
func Trim(object any) (any, error) {
	if m, err := meta.Accessor(object); err == nil && m.GetManagedFields() != nil {
		m.SetManagedFields(nil)
	}
	return object, nil
}
