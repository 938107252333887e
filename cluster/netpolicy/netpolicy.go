// Package netpolicy tells people that NetworkPolicy objects have no effect on the
// bundled pod network: by an Event on each of them, and by one warning in the log.
package netpolicy

import (
	"context"
	"fmt"
	"log/slog"
	"sync"

	core "k8s.io/api/core/v1"
	events "k8s.io/api/events/v1"
	networking "k8s.io/api/networking/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// Config is what the warnings need.
type Config struct {
	Client    kubernetes.Interface
	Informers informers.SharedInformerFactory // NetworkPolicies
	Node      string                          // name of this node, as who reports

	Log *slog.Logger
}

// Note is the Event's text.
const Note = "the bundled pod network does not enforce NetworkPolicy: all traffic is allowed; use a network plugin that enforces it"

// Run warns until ctx ends. Objects that were there before it began have their Events
// from the one before.
func Run(ctx context.Context, c Config) error {
	informer := c.Informers.Networking().V1().NetworkPolicies().Informer()
	fresh := make(chan *networking.NetworkPolicy)
	var once sync.Once
	handle, err := informer.AddEventHandler(cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(any any, initial bool) {
			p, ok := any.(*networking.NetworkPolicy)
			if !ok {
				return
			}
			once.Do(func() {
				c.Log.Warn("NetworkPolicy has no effect", "namespace", p.Namespace, "name", p.Name, "why", Note)
			})
			if initial {
				return
			}
			select {
			case fresh <- p:
			case <-ctx.Done():
			}
		},
	})
	if err != nil {
		return fmt.Errorf("watch NetworkPolicies: %w", err)
	}
	c.Informers.Start(ctx.Done())
	for {
		select {
		case <-ctx.Done():
			return informer.RemoveEventHandler(handle)
		case p := <-fresh:
			if _, err := c.Client.EventsV1().Events(p.Namespace).Create(ctx, c.event(p), meta.CreateOptions{}); err != nil {
				c.Log.Debug("tell that NetworkPolicy has no effect", "namespace", p.Namespace, "name", p.Name, "err", err)
			}
		}
	}
}

func (c Config) event(p *networking.NetworkPolicy) *events.Event {
	return &events.Event{
		ObjectMeta:          meta.ObjectMeta{Namespace: p.Namespace, Name: p.Name + "." + string(uuid.NewUUID())},
		EventTime:           meta.NowMicro(),
		ReportingController: "lifepod.dev/network",
		ReportingInstance:   c.Node,
		Type:                core.EventTypeWarning,
		Action:              "Enforce",
		Reason:              "NotEnforced",
		Regarding: core.ObjectReference{
			APIVersion: networking.SchemeGroupVersion.String(), Kind: "NetworkPolicy",
			Namespace: p.Namespace, Name: p.Name, UID: p.UID,
		},
		Note: Note,
	}
}
