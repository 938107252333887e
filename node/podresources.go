package node

import (
	"context"

	"github.com/lifepod/lifepod/internal/rootfolder"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/node/localapi"
	"github.com/lifepod/lifepod/pods"
	"github.com/lifepod/lifepod/roster"
)

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
