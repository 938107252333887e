package node

import (
	"context"

	"github.com/lifepod/lifepod/internal/rootfolder"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/node/podresources"
	"github.com/lifepod/lifepod/pods"
	"github.com/lifepod/lifepod/roster"
)

// listenPodResources makes the socket at which others ask which devices pods have.
func (s *setup) listenPodResources(p *parts) (serve func(context.Context) error, err error) {
	config := podresources.Config{Pods: func() []podresources.Pod { return withResources(p.pods) }, Devices: p.devices, Exclusive: p.byName}
	if p.cluster != nil {
		config.Claims = p.cluster.claims.Given
	}
	server := podresources.New(config)
	s.counts.Register(server.Collectors()...)
	return server.Listen(rootfolder.PodResources.In(s.options.rootDir()))
}

// withResources are the pods, and which of them are active: those that have not ended (A-DEV-13).
func withResources(shell *pods.Shell) (list []podresources.Pod) {
	for _, view := range shell.Views() {
		if view.Source != roster.Runtime {
			active := view.Position != roster.Over && !lifecycle.Terminal(view.Pod.Status.Phase)
			list = append(list, podresources.Pod{Pod: view.Pod, Active: active})
		}
	}
	return list
}
