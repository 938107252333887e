package lifepodtest

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/lifepod/lifepod/manifest"
	"github.com/lifepod/lifepod/sim/live"
	"github.com/lifepod/lifepod/sim/nodes"
	"github.com/lifepod/lifepod/sim/nodes/nodefaults"
	"github.com/lifepod/lifepod/sim/scenario/file"
)

// Options are what the nodes are like.
type Options struct {
	Nodes int // 0: one
	// Scenarios say what containers do, each in YAML as in a file. The key is what the pods'
	// annotation lifepod.dev/scenario names, or a pattern of namespace and name such as
	// default/worker-*; that of all other pods is empty.
	Scenarios map[string]string
	// NodeScenario says what happens to the nodes, which are sim-0, sim-1, …: kind NodeScenario, in YAML
	// (docs/sim.md); empty: nothing.
	NodeScenario string
	// Scheduler says that the cluster has one; else each pod is bound to the node with the fewest
	// pods, whatever it asks for.
	Scheduler bool
	// Output takes what containers write; nil: the test's log does.
	Output func(pod *v1.Pod, container, stream, text string)
	// Speed is how many times as fast as others pods live, such as 60; 0: 1.
	Speed float64
	// Manual has the time of pods stand still, until Nodes.Advance moves it on.
	Manual bool
}

// patience is how long the API server may take to know the nodes.
const patience = time.Minute

// Start adds nodes, until the test ends. When it returns they are Ready.
func Start(t testing.TB, config *rest.Config, o Options) *Nodes {
	t.Helper()
	lives := o.time()
	if err := lives.Check(); err != nil {
		t.Fatalf("lifepodtest: %v", err)
	}
	scenarios, err := read(o.Scenarios)
	if err != nil {
		t.Fatalf("lifepodtest: %v", err)
	}
	count := cmp.Or(o.Nodes, 1)
	var happens *nodefaults.Scenario
	if o.NodeScenario != "" {
		if happens, err = nodefaults.Read(manifest.Source{Name: "NodeScenario", Data: []byte(o.NodeScenario)}, nodes.Names(prefix, count)); err != nil {
			t.Fatalf("lifepodtest: %v", err)
		}
	}
	if o.Output == nil {
		o.Output = func(pod *v1.Pod, container, _, text string) {
			t.Logf("%s/%s %s: %s", pod.Namespace, pod.Name, container, text)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
	log := slog.New(slog.DiscardHandler)
	started := &Nodes{t: t, binds: !o.Scheduler, manual: lives.Manual}
	if started.client, err = kubernetes.NewForConfig(config); err != nil {
		t.Fatalf("lifepodtest: client of the API server: %v", err)
	}
	if !o.Scheduler {
		running.Go(func() { bind(ctx, started.client, count) })
	}
	serve := nodes.Loopback()
	ready, failed := make(chan struct{}), make(chan error, 1)
	running.Go(func() {
		pods := &live.Pods{Scenarios: scenarios, Seed: 1, Output: o.Output}
		tell := func(node, what string) { t.Logf("%s %s", node, what) }
		failed <- nodes.Run(ctx, nodes.Options{
			API: config, Count: count, Prefix: prefix, Serve: serve, Time: lives, Pods: pods, Faults: nodes.Faults{Scenario: happens, Tell: tell}, Log: log,
		}, func() { close(ready) })
	})
	select {
	case <-ready:
	case err := <-failed:
		t.Fatalf("lifepodtest: %v", err)
	case <-time.After(patience):
		t.Fatalf("lifepodtest: the API server has not got to know %d nodes within %v", count, patience)
	}
	return started
}

// prefix begins the names of the nodes.
const prefix = "sim-"

// read reads the scenarios as if they were files.
func read(texts map[string]string) (*file.Scenarios, error) {
	var list []file.Named
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		from := fmt.Sprintf("Scenarios[%q]", name)
		says, err := file.ReadForAny(manifest.Source{Name: from, Data: []byte(texts[name])}, live.Check)
		if err != nil {
			return nil, err
		}
		list = append(list, file.Named{Name: name, From: from, Scenario: says})
	}
	return file.ScenariosOf(list...)
}
