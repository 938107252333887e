package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/bundle"
	"github.com/lifepod/lifepod/cri"
	"github.com/lifepod/lifepod/host"
)

// podNetwork has the pods' addresses be of the Node's podCIDR, which the cluster gives
// it. Until it is there for the first time, pods wait.
type podNetwork struct {
	runtime *host.Runtime
	cluster netip.Prefix // of all nodes' pods
	log     *slog.Logger

	heard chan netip.Prefix // the newest podCIDR

	mu  sync.Mutex
	err error // why there is no network
}

// podNetworkRetry is when what went wrong is tried again.
const podNetworkRetry = 5 * time.Second

// newPodNetwork goes on with the network of before; nil if the cluster gives none.
func (s *setup) newPodNetwork(ctx context.Context) (*podNetwork, error) {
	if !s.options.inCluster() {
		return nil, givePodCIDR(ctx, s)
	}
	if !s.options.PodRange.IsValid() || !s.runtime.Bundled() {
		return nil, nil
	}
	p := &podNetwork{runtime: s.runtime, cluster: s.options.PodRange, log: s.log, heard: make(chan netip.Prefix, 1)}
	_, of, err := s.runtime.Network()
	if err != nil {
		return nil, err
	}
	if of != p.cluster {
		p.err = errors.New("the node has no podCIDR yet")
	}
	return p, nil
}

// ready is nil when pods can have a network.
func (p *podNetwork) ready() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil {
		return fmt.Errorf("container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:%w", p.err)
	}
	return nil
}

// node hears each version of the Node.
func (p *podNetwork) node(n *v1.Node) {
	subnet, err := netip.ParsePrefix(n.Spec.PodCIDR)
	if err != nil {
		return // it has none yet
	}
	select {
	case <-p.heard:
	default:
	}
	select {
	case p.heard <- subnet:
	default: // another version was faster; the Node is heard of again
	}
}

// run has the pods' addresses follow the Node until ctx ends. changed is told when ready
// has another answer.
func (p *podNetwork) run(ctx context.Context, changed func()) {
	var wanted, applied netip.Prefix
	again := time.NewTimer(0)
	again.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case wanted = <-p.heard:
		case <-again.C:
		}
		if wanted == applied {
			continue
		}
		err := p.runtime.JoinNetwork(ctx, wanted, p.cluster)
		switch {
		case err == nil:
			applied = wanted
			p.log.Info("pods have addresses of the node's podCIDR", "podCIDR", wanted)
			p.settle(changed)
		case errors.Is(err, bundle.ErrNetworkInUse):
			applied = wanted
			p.log.Warn("pods of this node can't be reached from other nodes until all of them have ended once: lifepod down, and start it again", "err", err)
			p.settle(changed)
		case ctx.Err() == nil:
			p.log.Error("the pod network is tried again", "in", podNetworkRetry, "err", err)
			again.Reset(podNetworkRetry)
		}
	}
}

// settle notes that pods can have a network.
func (p *podNetwork) settle(changed func()) {
	p.mu.Lock()
	before := p.err
	p.err = nil
	p.mu.Unlock()
	if before != nil {
		changed()
	}
}

// givePodCIDR gives the pods of a node without a cluster the addresses of podCIDR
// (A-RES-5).
func givePodCIDR(ctx context.Context, s *setup) error {
	given := s.config.Kubelet.PodCIDR
	if given == "" {
		return nil
	}
	wrong := func(why string) error {
		return s.config.Wrong(field.Invalid(field.NewPath("podCIDR"), given, why))
	}
	if !s.runtime.Bundled() {
		request := &runtimeapi.UpdateRuntimeConfigRequest{
			RuntimeConfig: &runtimeapi.RuntimeConfig{NetworkConfig: &runtimeapi.NetworkConfig{PodCidr: given}},
		}
		if _, err := s.calls.Runtime.UpdateRuntimeConfig(ctx, request); err != nil {
			return fmt.Errorf("tell the container runtime podCIDR %s: %s", given, cri.Text(err))
		}
		return nil
	}
	if s.options.CNI.ConfDir != "" {
		return wrong("the addresses of pods are those of --cni-conf-dir: should be left out")
	}
	subnet, err := netip.ParsePrefix(given)
	if err != nil {
		return wrong("should be one prefix such as 10.88.0.0/16")
	}
	if err := s.runtime.JoinNetwork(ctx, subnet.Masked(), subnet.Masked()); err != nil {
		return wrong(err.Error())
	}
	return nil
}
