package dns

import (
	"context"
	"fmt"
	"time"

	core "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/lifepod/lifepod/internal/mailbox"
)

// guardRetry is when a change that the API server did not take is tried again.
const guardRetry = time.Second

// guard takes the other servers whose nodes are not ready out of the Service, and puts
// them back, until ctx ends: no controller manages these slices. What a server says of
// itself stands.
func (c Config) guard(ctx context.Context, known *objects) error {
	changed := mailbox.NewSignal()
	note := func(any) { changed.Send() }
	handler := cache.ResourceEventHandlerFuncs{AddFunc: note, UpdateFunc: func(_, now any) { note(now) }, DeleteFunc: note}
	for informer, of := range map[cache.SharedIndexInformer]func(any) bool{
		c.Informers.Core().V1().Nodes().Informer(): func(any) bool { return true },
		known.slices: isServer,
	} {
		registration, err := informer.AddEventHandler(cache.FilteringResourceEventHandler{FilterFunc: of, Handler: handler})
		if err != nil {
			return fmt.Errorf("cluster DNS: watch its servers: %w", err)
		}
		defer func() { _ = informer.RemoveEventHandler(registration) }()
	}
	for {
		var again <-chan time.Time
		if err := c.correct(ctx, known); err != nil && ctx.Err() == nil {
			c.Log.Warn("cluster DNS: can't write the endpoints of its servers", "err", err)
			again = time.After(guardRetry)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		case <-again:
		}
	}
}

// isServer says whether an object is the slice of a server.
func isServer(any any) bool {
	s, ok := any.(*discovery.EndpointSlice)
	return ok && s.Namespace == namespace && s.Labels[discovery.LabelManagedBy] == manager && s.Labels[discovery.LabelServiceName] == serviceName
}

// correct makes the endpoints of other servers as ready as their nodes. Of a server
// without a node nobody knows.
func (c Config) correct(ctx context.Context, known *objects) error {
	servers, err := known.slices.GetIndexer().ByIndex(byKey, serviceName+"."+namespace)
	if err != nil {
		return err
	}
	for _, any := range servers {
		s := any.(*discovery.EndpointSlice)
		if !isServer(s) || len(s.Endpoints) == 0 || s.Endpoints[0].NodeName == nil || *s.Endpoints[0].NodeName == c.Node {
			continue
		}
		node, err := known.nodes.Get(*s.Endpoints[0].NodeName)
		if err != nil {
			continue
		}
		want, has := isReady(node), s.Endpoints[0].Conditions.Ready
		if has != nil && *has == want {
			continue
		}
		s = s.DeepCopy()
		s.Endpoints[0].Conditions.Ready = &want
		_, err = c.Client.DiscoveryV1().EndpointSlices(namespace).Update(ctx, s, meta.UpdateOptions{FieldManager: manager})
		if errors.IsConflict(err) || errors.IsNotFound(err) {
			continue // its change is seen here
		}
		if err != nil {
			return fmt.Errorf("EndpointSlice %s: %w", s.Name, err)
		}
		c.Log.Info("cluster DNS: a server of another node has changed", "node", node.Name, "ready", want)
	}
	return nil
}

func isReady(node *core.Node) bool {
	for _, condition := range node.Status.Conditions {
		if condition.Type == core.NodeReady {
			return condition.Status == core.ConditionTrue
		}
	}
	return false
}
