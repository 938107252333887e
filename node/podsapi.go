package node

import (
	"context"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/rootfolder"
	"github.com/lifepod/lifepod/node/config"
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
