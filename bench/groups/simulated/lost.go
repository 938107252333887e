package main

import (
	"context"
	"fmt"
	"math"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/bench/bare"
)

// lostAtOnce is how many nodes are lost in an attempt.
func (p plan) lostAtOnce() int { return int(math.Ceil(p.lost / 100 * float64(p.pods))) }

// spare are the nodes that take the pods of those that are lost, in all attempts.
func (p plan) spare() int { return p.lostAtOnce() * (p.attempts + 1) }

// condemn chooses the members whose nodes are lost as the worker exits. These nodes take no other pod from now on.
func (b *bench) condemn(ctx context.Context) (pods []string, err error) {
	nodes := b.seen.nodes()
	for pod := range nodes {
		if len(pods) < b.plan.lostAtOnce() && !strings.HasPrefix(pod, "train-workers-0-0-") {
			pods = append(pods, pod)
		}
	}
	return pods, bare.Together(len(pods), len(pods), func(i int) error {
		cordon := []byte(`{"spec": {"unschedulable": true}}`)
		_, err := b.client.CoreV1().Nodes().Patch(ctx, nodes[pods[i]], types.StrategicMergePatchType, cordon, metav1.PatchOptions{})
		return err
	})
}

// lose deletes the pods by force. Kubernetes does so with the pods of a Node that has the taint node.kubernetes.io/out-of-service.
func (b *bench) lose(ctx context.Context, pods []string) error {
	err := bare.Together(len(pods), len(pods), func(i int) error {
		return b.client.CoreV1().Pods(metav1.NamespaceDefault).Delete(ctx, pods[i], *metav1.NewDeleteOptions(0))
	})
	if err != nil {
		return fmt.Errorf("delete the pods of lost nodes: %w", err)
	}
	return nil
}
