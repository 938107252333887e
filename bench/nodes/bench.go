package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"k8s.io/client-go/kubernetes"

	"github.com/lifepod/lifepod/bench/nodes/side"
	"github.com/lifepod/lifepod/bench/process"
	"github.com/lifepod/lifepod/bench/testbed"
	"github.com/lifepod/lifepod/e2e/controlplane"
)

// manyRequests is a rate of requests that limits nobody.
const manyRequests = 10000

// bench is a control plane and what was measured on it.
type bench struct {
	plan    plan
	dir     string // of all files
	plane   *controlplane.ControlPlane
	client  kubernetes.Interface
	version string // of KWOK
	all     results
	serial  int // of the rounds
}

// open starts the control plane. After an error nothing is left.
func open(ctx context.Context, p plan) (b *bench, err error) {
	b = &bench{plan: p, all: results{pods: p.pods, nodes: p.nodes, of: map[string][]result{}}}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.close())
		}
	}()
	if b.dir, err = os.MkdirTemp("", "lifepod-bench-nodes-"); err != nil {
		return b, err
	}
	progress("control plane")
	if b.plane, err = controlplane.Start(ctx, controlplane.Config{QPS: manyRequests}); err != nil {
		return b, err
	}
	b.client, err = testbed.NewClient(b.plane.RESTConfig())
	return b, err
}

func (b *bench) close() (err error) {
	if b.plane != nil {
		err = b.plane.Close()
	}
	if b.dir != "" {
		err = errors.Join(err, os.RemoveAll(b.dir))
	}
	return err
}

// measure lets the sides take turns, each round in the other order.
func (b *bench) measure(ctx context.Context) error {
	order := []string{side.Lifepod, side.KWOK, side.Life}
	if b.plan.only != "" {
		order = []string{b.plan.only}
	}
	for i := range b.plan.n + 1 {
		pods := b.plan.pods
		if i == 0 {
			pods = min(pods, max(pods/10, 100)) // the API server warms up
		}
		for _, name := range order {
			r, err := b.round(ctx, name, pods)
			if err != nil {
				return fmt.Errorf("round %d of %s: %w", i, name, err)
			}
			progress("round %d of %s: %d pods Ready after %v, created after %v", i, name, pods, ms(r.took), ms(r.created))
			if i > 0 {
				b.all.of[name] = append(b.all.of[name], r)
			}
		}
		slices.Reverse(order)
	}
	return nil
}

// newDir is a new folder for the files of a round.
func (b *bench) newDir() (string, error) {
	b.serial++
	dir := filepath.Join(b.dir, fmt.Sprint("round-", b.serial))
	return dir, os.Mkdir(dir, 0o700)
}

// usage is what processes have used of the CPU.
func (b *bench) usage(of side.Nodes) (u usage, err error) {
	if u.nodes, err = process.CPUTime(of.PID()); err != nil {
		return u, err
	}
	u.api, err = process.CPUTime(b.plane.PIDs()[1])
	return u, err
}

// headline says what was measured, and how.
func (b *bench) headline() string {
	rounds := 0
	for _, of := range b.all.of {
		rounds = max(rounds, len(of))
	}
	what := "rounds"
	if rounds == 1 {
		what = "round"
	}
	return fmt.Sprintf("%d %s of %d pods on %d nodes, %d created at the same time; load average %s\n"+
		"KWOK %s with its stages \"fast\", a parallelism of %d and Leases", rounds, what, b.plan.pods, b.plan.nodes, b.plan.creators,
		process.LoadAverage(), b.version, b.plan.parallelism)
}
