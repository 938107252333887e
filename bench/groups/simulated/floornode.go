package main

import (
	"context"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/lifepod/lifepod/bench/testbed"
	"github.com/lifepod/lifepod/sim/nodes"
)

// floorNode is the node of the other JobSet's pods. Nobody runs them. Pods without a node would make more work: the API server refuses
// Endpoints that have them, and the controller tries again.
const floorNode = "floor"

const (
	leaseRenewal  = 10 * time.Second // the kubelet's
	leaseDuration = 40               // seconds
)

// startFloorNode has the cluster know the node, and keeps it alive until end is called.
func startFloorNode(ctx context.Context, client kubernetes.Interface) (end func() error, err error) {
	node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: floorNode, Labels: map[string]string{nodes.SimulatedLabel: "true"}}}
	node.Spec.Unschedulable = true
	node.Status.Conditions = []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue, LastHeartbeatTime: metav1.Now(), LastTransitionTime: metav1.Now()}}
	if _, err := client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{}); err != nil {
		return nil, err
	}
	leases := client.CoordinationV1().Leases(v1.NamespaceNodeLease)
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: floorNode}}
	lease.Spec.HolderIdentity, lease.Spec.LeaseDurationSeconds = new(floorNode), new(int32(leaseDuration))
	lease.Spec.RenewTime = new(metav1.NowMicro())
	if lease, err = leases.Create(ctx, lease, metav1.CreateOptions{}); err != nil {
		return nil, err
	}
	renewing, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for testbed.Sleep(renewing, leaseRenewal) == nil {
			lease.Spec.RenewTime = new(metav1.NowMicro())
			if renewed, err := leases.Update(renewing, lease, metav1.UpdateOptions{}); err == nil {
				lease = renewed
			}
		}
	}()
	return func() error { cancel(); <-done; return nil }, nil
}
