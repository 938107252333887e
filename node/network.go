package node

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/cri"
)

// network asks the runtime whether pods can have a network, until they can: the
// agent of a new node may run long before its network plugin does.
type network struct {
	runtime runtimeapi.RuntimeServiceClient
	ready   atomic.Bool
	given   *podNetwork // nil: the runtime has its network from elsewhere
}

// Ready is nil if there is a network, else in Kubernetes' words why not (A-SYNC-6).
func (n *network) Ready(ctx context.Context) error {
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

// Doubt has the next Ready ask again.
func (n *network) Doubt() { n.ready.Store(false) }
