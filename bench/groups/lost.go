package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/bench/bare"
)

// lostAtOnce is how many nodes are lost in a round.
func (p plan) lostAtOnce() int { return int(math.Ceil(p.lost / 100 * float64(p.pods))) }

// spare are the nodes that take the pods of those that are lost, in all rounds.
func (p plan) spare() int { return p.lostAtOnce() * (p.attempts + 1) * len(ways(p)) }

// condemn chooses the members whose nodes are lost as the worker exits. These nodes take no other pod from now on.
func (g *group) condemn(ctx context.Context) (names []string, err error) {
	var nodes []string
	_, err = g.pods.Await(ctx, "members to choose from", func(pods map[string]*v1.Pod) bool {
		names, nodes = nil, nil
		for name, pod := range pods {
			if len(names) < g.plan.lostAtOnce() && !strings.HasPrefix(name, g.exits) {
				names, nodes = append(names, name), append(nodes, pod.Spec.NodeName)
			}
		}
		return true
	})
	if err != nil {
		return nil, err
	}
	return names, bare.Together(len(nodes), len(nodes), func(i int) error {
		cordon := []byte(`{"spec": {"unschedulable": true}}`)
		_, err := g.client.CoreV1().Nodes().Patch(ctx, nodes[i], types.StrategicMergePatchType, cordon, metav1.PatchOptions{})
		return err
	})
}

// lose deletes the pods by force. Kubernetes does so with the pods of a Node that has the taint node.kubernetes.io/out-of-service.
func (g *group) lose(ctx context.Context, pods []string) error {
	err := bare.Together(len(pods), len(pods), func(i int) error {
		return g.client.CoreV1().Pods(metav1.NamespaceDefault).Delete(ctx, pods[i], *metav1.NewDeleteOptions(0))
	})
	if err != nil {
		return fmt.Errorf("delete the pods of lost nodes: %w", err)
	}
	return nil
}

// awaitLiving waits until all members that live have announced another attempt, and until those that were lost have been made again and
// have nodes.
func (g *group) awaitLiving(ctx context.Context, before string, lost []string) (living, bound time.Time, err error) {
	if len(lost) == 0 {
		return living, bound, nil
	}
	living, err = g.pods.Await(ctx, "members that live to announce an attempt", func(pods map[string]*v1.Pod) bool {
		there := 0
		for name, pod := range pods {
			if !slices.Contains(lost, name) && g.attempt(pod) != before && g.attempt(pod) != "" {
				there++
			}
		}
		return there >= g.plan.pods-len(lost)
	})
	if err != nil {
		return living, bound, err
	}
	bound, err = g.pods.Await(ctx, "members to have nodes", func(pods map[string]*v1.Pod) bool {
		there := 0
		for name, pod := range pods {
			if !slices.Contains(lost, name) && pod.Spec.NodeName != "" {
				there++
			}
		}
		return there == g.plan.pods
	})
	return living, bound, err
}
