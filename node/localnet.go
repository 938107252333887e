package node

import (
	"context"
	"time"

	"github.com/lifepod/lifepod/internal/localnet"
)

// guardPeriod is how often the guard is looked for: whoever loads other rules may flush it,
// as the kubelet expects of its own.
const guardPeriod = time.Minute

// guardLocalnet keeps 127.0.0.0/8 for this machine's programs, as the kubelet does by its chain
// KUBE-FIREWALL (makeIPTablesUtilChains). Of a bundled runtime's pods the bundle does.
func (s *setup) guardLocalnet(ctx context.Context) {
	if s.runtime.Bundled() || !*s.config.Kubelet.MakeIPTablesUtilChains {
		return
	}
	failed := false
	for {
		err := localnet.Guard(ctx)
		if err != nil && ctx.Err() == nil && !failed {
			s.log.Warn("nothing keeps packets from elsewhere from reaching 127.0.0.1 of this machine, where a network plugin sets route_localnet: install nftables or iptables, or set makeIPTablesUtilChains to false if something else does",
				"err", err)
		}
		failed = err != nil
		select {
		case <-ctx.Done():
			return
		case <-time.After(guardPeriod):
		}
	}
}
