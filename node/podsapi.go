package node

import (
	"context"

	"github.com/lifepod/lifepod/internal/rootfolder"
	"github.com/lifepod/lifepod/node/config"
)

// listenPods makes the socket at which others ask which pods there are; nil without its
// feature gate (A-NODE-8).
func (s *setup) listenPods(p *parts) (serve func(context.Context) error, err error) {
	if !s.config.Kubelet.FeatureGates[config.PodsAPI] {
		return nil, nil
	}
	return p.view.changes.ListenPods(rootfolder.PodsAPI.In(s.options.rootDir()), p.view)
}
