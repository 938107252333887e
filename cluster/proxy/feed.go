package proxy

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"

	core "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	networking "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kubernetes/pkg/proxy/apis"
)

// feed gives the proxier what the shared informers tell.
type feed struct {
	informers informers.SharedInformerFactory
	node      string
	to        *proxier

	registered []registration
	topology   map[string]string

	mu    sync.RWMutex // ended is set while nothing is being delivered
	ended bool
}

type registration struct {
	informer cache.SharedIndexInformer
	handle   cache.ResourceEventHandlerRegistration
}

// begin registers with the informers, which may be running already or not.
func (f *feed) begin() error {
	services := f.informers.Core().V1().Services().Informer()
	slices := f.informers.Discovery().V1().EndpointSlices().Informer()
	ranges := f.informers.Networking().V1().ServiceCIDRs().Informer()
	nodes := f.informers.Core().V1().Nodes().Informer()
	return errors.Join(
		watch(f, services, proxied, f.to.OnServiceUpdate),
		watch(f, slices, hasAddress, f.slice),
		watch(f, ranges, func(*networking.ServiceCIDR) bool { return true }, f.serviceRanges),
		watch(f, nodes, func(n *core.Node) bool { return n.Name == f.node }, f.ownNode),
	)
}

// proxied is whether a service is this proxy's: not another one's, and not without
// an address.
func proxied(s *core.Service) bool {
	_, other := s.Labels[apis.LabelServiceProxyName]
	return !other && s.Spec.ClusterIP != core.ClusterIPNone
}

func hasAddress(s *discovery.EndpointSlice) bool {
	_, headless := s.Labels[core.IsHeadlessService]
	return !headless
}

func (f *feed) slice(old, now *discovery.EndpointSlice) {
	switch {
	case now == nil:
		f.to.OnEndpointSliceDelete(old)
	case old == nil:
		f.to.OnEndpointSliceAdd(now)
	default:
		f.to.OnEndpointSliceUpdate(old, now)
	}
}

func (f *feed) serviceRanges(_, _ *networking.ServiceCIDR) {
	list, err := f.informers.Networking().V1().ServiceCIDRs().Lister().List(labels.Everything())
	if err != nil {
		return // a lister of an informer has none
	}
	var all []string
	for _, r := range list {
		all = append(all, r.Spec.CIDRs...)
	}
	f.to.OnServiceCIDRsChanged(all)
}

// ownNode tells whether there is a node, and in which zone.
func (f *feed) ownNode(_, now *core.Node) {
	f.to.health.node.Store(now)
	if now == nil {
		return
	}
	topology := map[string]string{}
	if zone, ok := now.Labels[core.LabelTopologyZone]; ok {
		topology[core.LabelTopologyZone] = zone
	}
	if !maps.Equal(topology, f.topology) {
		f.topology = topology
		f.to.OnTopologyChange(topology)
	}
}

// synced waits until all that was there at the beginning has been told; false means
// that ctx ended first.
func (f *feed) synced(ctx context.Context) bool {
	for _, r := range f.registered {
		if !cache.WaitForCacheSync(ctx.Done(), r.handle.HasSynced) {
			return false
		}
	}
	return true
}

// end returns when nothing more is reported.
func (f *feed) end() error {
	f.mu.Lock()
	f.ended = true
	f.mu.Unlock()
	var all []error
	for _, r := range f.registered {
		all = append(all, r.informer.RemoveEventHandler(r.handle))
	}
	return errors.Join(all...)
}

// watch tells of changes of those that are wanted; one that is not wanted any more is
// as one that is gone.
func watch[T any](f *feed, informer cache.SharedIndexInformer, wanted func(*T) bool, changed func(old, now *T)) error {
	tell := func(before, after any) {
		old, now := object(before, wanted), object(after, wanted)
		f.mu.RLock()
		defer f.mu.RUnlock()
		if !f.ended && (old != nil || now != nil) {
			changed(old, now)
		}
	}
	handle, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(now any) { tell(nil, now) },
		UpdateFunc: tell,
		DeleteFunc: func(old any) { tell(old, nil) },
	})
	if err != nil {
		return fmt.Errorf("service traffic: %w", err)
	}
	f.registered = append(f.registered, registration{informer, handle})
	return nil
}

func object[T any](any any, wanted func(*T) bool) *T {
	if last, ok := any.(cache.DeletedFinalStateUnknown); ok {
		any = last.Obj
	}
	if o, ok := any.(*T); ok && wanted(o) {
		return o
	}
	return nil
}
