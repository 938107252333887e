// Package simulated is the nodes without machines in the process of lifepod up (docs/sim.md).
package simulated

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/lifepod/lifepod/sim/live"
	"github.com/lifepod/lifepod/sim/nodes"
	"github.com/lifepod/lifepod/sim/nodes/nodefaults"
	"github.com/lifepod/lifepod/sim/scenario/file"
)

// Part is what runs them, as --disable names it.
const Part = "simulated-nodes"

// Nodes are how many there are, and what happens to pods on them.
type Nodes struct {
	Count        int
	Scenarios    []string // as --scenario of lifepod sim nodes
	Speed        float64  // as --speed of lifepod sim nodes
	NodeScenario string   // as --node-scenario; empty: nothing happens to them
}

const (
	// most is as many nodes as Kubernetes is made for.
	most = 5000
	// prefix begins their names; those of lifepod sim nodes begin with sim-.
	prefix = "simulated-"
	// madeBy tells their Nodes from those of lifepod sim nodes.
	madeBy, up = "lifepod.dev/simulated-by", "up"
)

// Check says what is wrong with them.
func (n Nodes) Check() error {
	switch {
	case n.Count < 0 || n.Count > most:
		return fmt.Errorf("--simulated-nodes %d: want 0 to %d", n.Count, most)
	case n.Count == 0 && len(n.Scenarios) > 0:
		return errors.New("--simulated-scenario: want --simulated-nodes, too: other nodes have real containers")
	}
	if err := live.CheckSpeed(n.Speed); err != nil {
		return fmt.Errorf("--simulated-speed %w", err)
	}
	if n.Count == 0 && n.Speed != 1 {
		return errors.New("--simulated-speed: want --simulated-nodes, too: other nodes have real containers")
	}
	if n.Count == 0 && n.NodeScenario != "" {
		return errors.New("--simulated-node-scenario: want --simulated-nodes, too: it is about them")
	}
	if _, err := n.pods(); err != nil {
		return err
	}
	_, err := n.nodeScenario()
	return err
}

// nodeScenario is what happens to the nodes; nil: nothing.
func (n Nodes) nodeScenario() (says *nodefaults.Scenario, err error) {
	if n.NodeScenario == "" {
		return says, nil
	}
	if says, err = nodefaults.ReadFile(n.NodeScenario, nodes.Names(prefix, n.Count)); err != nil {
		return nil, fmt.Errorf("--simulated-node-scenario: %w", err)
	}
	return says, nil
}

// pods are those of the nodes, which live by the scenarios.
func (n Nodes) pods() (*live.Pods, error) {
	scenarios, err := file.ReadScenarios(n.Scenarios, live.Check)
	if err != nil {
		return nil, fmt.Errorf("--simulated-scenario: %w", err)
	}
	return &live.Pods{Scenarios: scenarios, Seed: 1}, nil
}

type Config struct {
	Nodes    Nodes
	Loopback *rest.Config // may do everything
	Client   kubernetes.Interface
	IP       net.IP // this machine's
	Log      *slog.Logger
}

// Run is the nodes until ctx ends. Their Nodes stay then: where the API server is not, nobody sees them. The next start
// removes those that it does not have.
func Run(ctx context.Context, c Config) error {
	if err := c.removeOthers(ctx); err != nil {
		return err
	}
	if c.Nodes.Count == 0 {
		<-ctx.Done()
		return nil
	}
	pods, err := c.Nodes.pods()
	if err != nil {
		return err
	}
	says, err := c.Nodes.nodeScenario()
	if err != nil {
		return err
	}
	return nodes.Run(ctx, nodes.Options{
		API: c.Loopback, Count: c.Nodes.Count, Time: nodes.Time{Speed: c.Nodes.Speed}, Prefix: prefix, Labels: map[string]string{madeBy: up},
		Serve: nodes.Serve{IP: c.IP}, Pods: pods, Faults: nodes.Faults{Scenario: says}, Log: c.Log,
	}, func() { c.Log.Info("simulated nodes registered", "nodes", c.Nodes.Count) })
}

// removeOthers removes the Nodes of an earlier start that this one does not have.
func (c Config) removeOthers(ctx context.Context) error {
	all := c.Client.CoreV1().Nodes()
	there, err := all.List(ctx, metav1.ListOptions{LabelSelector: madeBy + "=" + up})
	if err != nil {
		return fmt.Errorf("list simulated nodes: %w", err)
	}
	wanted := map[string]bool{}
	for i := range c.Nodes.Count {
		wanted[fmt.Sprintf("%s%d", prefix, i)] = true
	}
	for i := range there.Items {
		name := there.Items[i].Name
		if wanted[name] {
			continue
		}
		if err := all.Delete(ctx, name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("delete simulated node %s: %w", name, err)
		}
	}
	return nil
}
