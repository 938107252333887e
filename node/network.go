package node

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/cri"
	"github.com/lifepod/lifepod/internal/localnet"
	"github.com/lifepod/lifepod/node/source"
)

// network asks the runtime whether pods can have a network, until they can: the
// agent of a new node may run long before its network plugin does.
type network struct {
	runtime runtimeapi.RuntimeServiceClient
	ready   atomic.Bool
	given   *podNetwork // nil: the runtime has its network from elsewhere
	traffic <-chan struct{}
}

// Ready is nil if there is a network for a pod, else in Kubernetes' words why not
// (A-SYNC-6).
func (n *network) Ready(ctx context.Context, pod *v1.Pod) error {
	if !source.IsStatic(pod) { // static ones begin without an API server
		if err := n.awaitTraffic(ctx); err != nil {
			return err
		}
	}
	if n.given != nil {
		if err := n.given.ready(); err != nil {
			return err
		}
	}
	if n.ready.Load() {
		return nil
	}
	answer, err := n.runtime.Status(ctx, &runtimeapi.StatusRequest{})
	if err != nil {
		return errors.New(cri.Text(err))
	}
	for _, c := range answer.GetStatus().GetConditions() {
		if c.GetType() == runtimeapi.NetworkReady && !c.GetStatus() {
			return fmt.Errorf("container runtime network not ready: NetworkReady=false reason:%s message:%s", c.GetReason(), c.GetMessage())
		}
	}
	n.ready.Store(true)
	return nil
}

// trafficPatience is how long a pod waits for service traffic before its events say so.
const trafficPatience = 3 * time.Second

// awaitTraffic waits for what takes a moment after the start of a node.
func (n *network) awaitTraffic(ctx context.Context) error {
	if n.traffic == nil {
		return nil
	}
	timer := time.NewTimer(trafficPatience)
	defer timer.Stop()
	select {
	case <-n.traffic:
		return nil
	case <-ctx.Done():
	case <-timer.C:
	}
	return errors.New("container runtime network not ready: NetworkReady=false reason:ServiceTrafficNotReady message:the Service default/kubernetes does not answer on this node yet")
}

// Doubt has the next Ready ask again.
func (n *network) Doubt() { n.ready.Store(false) }

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
