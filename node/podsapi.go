package node

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/lifepod/lifepod/internal/rootfolder"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/node/config"
	"github.com/lifepod/lifepod/node/join"
	"github.com/lifepod/lifepod/node/localapi"
	"github.com/lifepod/lifepod/node/server"
	"github.com/lifepod/lifepod/node/stats"
	"github.com/lifepod/lifepod/pods"
	"github.com/lifepod/lifepod/roster"
)

// listenPods makes the socket at which others ask which pods there are; nil with its
// feature gate off (A-NODE-8).
func (s *setup) listenPods(p *parts) (serve func(context.Context) error, err error) {
	if !config.Enabled(s.config.Kubelet, config.PodsAPI) {
		return nil, nil
	}
	api := p.view.changes.PodsAPI(func() (list []*v1.Pod) {
		for _, view := range p.pods.Views() {
			if view.Source != roster.Runtime {
				list = append(list, effective(view))
			}
		}
		return list
	}, p.view.Complete)
	s.counts.Register(api.Collectors()...)
	return api.Listen(rootfolder.PodsAPI.In(s.options.rootDir()))
}

// effective is a pod as others are told of it: that it is ready is believed of nobody but this node (A-NODE-8).
func effective(view roster.View) *v1.Pod {
	if view.Published {
		return view.Pod
	}
	pod := *view.Pod
	if pod.Status.Phase == "" {
		pod.Status.Phase = v1.PodPending
	}
	pod.Status.Conditions = slices.Clone(pod.Status.Conditions)
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == v1.PodReady && c.Status == v1.ConditionTrue {
			c.Status, c.Reason, c.Message = v1.ConditionFalse, "ContainersNotReady", "Kubelet is initializing pod containers"
		}
	}
	return &pod
}

// listenPodResources makes the socket at which others ask which devices pods have.
func (s *setup) listenPodResources(p *parts) (serve func(context.Context) error, err error) {
	config := localapi.Config{Pods: func() []localapi.Pod { return withResources(p.pods) }, Devices: p.devices, Exclusive: p.resources}
	if p.cluster != nil {
		config.Claims = p.cluster.claims.Given
	}
	server := localapi.NewPodResources(config)
	s.counts.Register(server.Collectors()...)
	return server.Listen(rootfolder.PodResources.In(s.options.rootDir()))
}

// withResources are the pods, and which of them are active: those that have not ended (A-DEV-13).
func withResources(shell *pods.Shell) (list []localapi.Pod) {
	for _, view := range shell.Views() {
		if view.Source != roster.Runtime {
			active := view.Position != roster.Over && !lifecycle.Terminal(view.Pod.Status.Phase)
			list = append(list, localapi.Pod{Pod: view.Pod, Active: active})
		}
	}
	return list
}

// newServing is the certificate of the node's API; nil if that is not served.
func (s *setup) newServing(client kubernetes.Interface) (*join.Serving, error) {
	k := s.config.Kubelet
	if !*k.EnableServer {
		return nil, nil
	}
	serving, err := join.NewServing(join.ServingOptions{
		Kubelet: k, CertDir: s.options.certDir(), NodeName: s.name, Client: client, Log: s.log,
	})
	if err != nil {
		return nil, fmt.Errorf("certificate of the node's API: %w", err)
	}
	return serving, nil
}

// addressed has the serving certificate follow the node's addresses.
func (c *cluster) addressed(addresses []v1.NodeAddress) {
	if c != nil && c.serving != nil {
		c.serving.SetAddresses(addresses)
	}
}

// newServer is the node's API on its port, which a node without a cluster does not
// have: nobody could be let in.
func (s *setup) newServer(c *cluster, view view, changes *server.Changes, all *stats.Stats) (*server.Server, error) {
	if c == nil || c.serving == nil {
		return nil, nil
	}
	var controller http.Handler
	if s.options.LocalVolumes != nil {
		controller = s.options.LocalVolumes.Controller()
	}
	return server.New(server.Config{
		Access: server.Access{NodeName: s.name}, Kubelet: s.config.Kubelet, Client: c.client, TLS: c.serving.TLS(), Node: view, Changes: changes,
		Peers:   c.groups.Members.Node,
		Runtime: s.calls.Runtime, Figures: s.figures(c, view, all), Controller: controller,
		Folders: server.Folders{Checkpoints: rootfolder.Checkpoints.In(s.options.rootDir()), Journal: rootfolder.Journal.In(s.options.rootDir())},
		About:   server.About{Flags: s.options.Flags, Version: s.options.Version}, Log: s.log,
	})
}
