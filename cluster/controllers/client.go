package controllers

import (
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/kubernetes/pkg/controller/garbagecollector/config"
)

// oneClient gives every controller the same client.
type oneClient struct{ c Config }

func (o oneClient) Config(string) (*rest.Config, error) { return rest.CopyConfig(o.c.Loopback), nil }

func (o oneClient) ConfigOrDie(string) *rest.Config { return rest.CopyConfig(o.c.Loopback) }

func (o oneClient) Client(string) (kubernetes.Interface, error) { return o.c.Client, nil }

func (o oneClient) ClientOrDie(string) kubernetes.Interface { return o.c.Client }

func (o oneClient) DiscoveryClient(string) (discovery.DiscoveryInterface, error) {
	return o.c.Client.Discovery(), nil
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
