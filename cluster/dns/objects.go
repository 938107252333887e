package dns

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"github.com/coredns/coredns/plugin/kubernetes"
	"github.com/coredns/coredns/plugin/kubernetes/object"
	core "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
)

// objects is what the plugin kubernetes asks of the cluster, out of the shared
// informers: it has no copies of its own.
type objects struct {
	services   cache.SharedIndexInformer
	slices     cache.SharedIndexInformer
	namespaces listers.NamespaceLister
	nodes      listers.NodeLister
	synced     []cache.InformerSynced
	began      int64 // Unix seconds, the serial number of the zones
}

// Indexes of the shared informers.
const (
	byKey     = "dns/service" // NAME.NAMESPACE
	byAddress = "dns/address"
)

func (c Config) objects() (*objects, error) {
	v1 := c.Informers.Core().V1()
	o := &objects{
		services:   v1.Services().Informer(),
		slices:     c.Informers.Discovery().V1().EndpointSlices().Informer(),
		namespaces: v1.Namespaces().Lister(),
		nodes:      v1.Nodes().Lister(),
		began:      time.Now().Unix(),
	}
	o.synced = []cache.InformerSynced{o.services.HasSynced, o.slices.HasSynced, v1.Namespaces().Informer().HasSynced, v1.Nodes().Informer().HasSynced}
	err := index(o.services, cache.Indexers{byKey: serviceKey, byAddress: serviceAddresses})
	if err == nil {
		err = index(o.slices, cache.Indexers{byKey: sliceKey, byAddress: sliceAddresses})
	}
	return o, err
}

// index adds indexes that aren't there yet from a Run before.
func index(informer cache.SharedIndexInformer, indexers cache.Indexers) error {
	if _, ok := informer.GetIndexer().GetIndexers()[byKey]; ok {
		return nil
	}
	if err := informer.AddIndexers(indexers); err != nil {
		return fmt.Errorf("cluster DNS: index: %w", err)
	}
	return nil
}

func serviceKey(any any) ([]string, error) {
	s := any.(*core.Service)
	return []string{object.ServiceKey(s.Name, s.Namespace)}, nil
}

func serviceAddresses(any any) ([]string, error) { return any.(*core.Service).Spec.ClusterIPs, nil }

func sliceKey(any any) ([]string, error) {
	s := any.(*discovery.EndpointSlice)
	return []string{object.EndpointsKey(s.Labels[discovery.LabelServiceName], s.Namespace)}, nil
}

func sliceAddresses(any any) ([]string, error) {
	var all []string
	for _, e := range any.(*discovery.EndpointSlice).Endpoints {
		all = append(all, e.Addresses...)
	}
	return all, nil
}

func (o *objects) wait(ctx context.Context) bool {
	return cache.WaitForCacheSync(ctx.Done(), o.synced...)
}

// ofNode is whether an address is one of a node or of a node's pod range.
func (o *objects) ofNode(a netip.Addr) bool {
	nodes, err := o.nodes.List(labels.Everything())
	if err != nil {
		return false
	}
	for _, n := range nodes {
		for _, own := range n.Status.Addresses {
			if own.Address == a.String() {
				return true
			}
		}
		for _, r := range n.Spec.PodCIDRs {
			if p, err := netip.ParsePrefix(r); err == nil && p.Contains(a) {
				return true
			}
		}
	}
	return false
}

// found are the objects of an index as CoreDNS has them.
func found[From, To any](informer cache.SharedIndexInformer, index, value string, convert func(From) (meta.Object, error)) []To {
	list, err := informer.GetIndexer().ByIndex(index, value)
	if err != nil {
		return nil
	}
	return converted[From, To](list, convert)
}

func converted[From, To any](list []any, convert func(From) (meta.Object, error)) []To {
	var all []To
	for _, any := range list {
		from, ok := any.(From)
		if !ok {
			continue
		}
		o, err := convert(from)
		if to, ok := o.(To); ok && err == nil {
			all = append(all, to)
		}
	}
	return all
}

// CoreDNS clears what it has converted: it gets a copy whose parts it doesn't touch.
func service(s *core.Service) (meta.Object, error) {
	one := *s
	return object.ToService(&one)
}

func endpoints(s *discovery.EndpointSlice) (meta.Object, error) {
	one := *s
	return object.EndpointSliceToEndpoints(&one)
}

func (o *objects) ServiceList() []*object.Service {
	return converted[*core.Service, *object.Service](o.services.GetIndexer().List(), service)
}

// SvcIndex is the service NAME.NAMESPACE.
func (o *objects) SvcIndex(key string) []*object.Service {
	return found[*core.Service, *object.Service](o.services, byKey, key, service)
}

// SvcIndexReverse is the service that has the address.
func (o *objects) SvcIndexReverse(ip string) []*object.Service {
	return found[*core.Service, *object.Service](o.services, byAddress, ip, service)
}

// EndpointsList are the endpoints of all services.
func (o *objects) EndpointsList() []*object.Endpoints {
	return converted[*discovery.EndpointSlice, *object.Endpoints](o.slices.GetIndexer().List(), endpoints)
}

// EpIndex are the endpoints of the service NAME.NAMESPACE.
func (o *objects) EpIndex(key string) []*object.Endpoints {
	return found[*discovery.EndpointSlice, *object.Endpoints](o.slices, byKey, key, endpoints)
}

// EpIndexReverse are those that have the address.
func (o *objects) EpIndexReverse(ip string) []*object.Endpoints {
	return found[*discovery.EndpointSlice, *object.Endpoints](o.slices, byAddress, ip, endpoints)
}

func (o *objects) GetNodeByName(_ context.Context, name string) (*core.Node, error) {
	return o.nodes.Get(name)
}

func (o *objects) GetNamespaceByName(name string) (*object.Namespace, error) {
	n, err := o.namespaces.Get(name)
	if err != nil {
		return nil, err
	}
	return &object.Namespace{Version: n.ResourceVersion, Name: n.Name}, nil
}

// HasSynced is so before the first question.
func (o *objects) HasSynced() bool { return true }

// Modified is the serial number of the zones.
func (o *objects) Modified(kubernetes.ModifiedMode) int64 { return o.began }

// Run and Stop are the informers' owner's.
func (o *objects) Run() {}

// Stop does nothing.
func (o *objects) Stop() error { return nil }

// What follows is of plugins and modes that are not used here.

// ServiceImportList is of multi-cluster services.
func (o *objects) ServiceImportList() []*object.ServiceImport { return nil }

// SvcExtIndexReverse is of addresses outside of the cluster.
func (o *objects) SvcExtIndexReverse(string) []*object.Service { return nil }

// SvcImportIndex is of multi-cluster services.
func (o *objects) SvcImportIndex(string) []*object.ServiceImport { return nil }

func (o *objects) McEpIndex(string) []*object.MultiClusterEndpoints { return nil }

// PodIndex is of verified pod records.
func (o *objects) PodIndex(string) []*object.Pod { return nil }
