package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/lifepod/lifepod/bench/testbed"
	"github.com/lifepod/lifepod/e2e/controlplane"
	"github.com/lifepod/lifepod/e2e/jobset"
	"github.com/lifepod/lifepod/e2e/member"
)

// bench is a cluster with the JobSet controller.
type bench struct {
	plan       plan
	work       string // folder of all files
	plane      *controlplane.ControlPlane
	api        kubernetes.Interface
	controller *jobset.Controller
	nodes      []*member.Member
	pods       *testbed.Board[*v1.Pod]
	stop       context.CancelFunc
	watched    chan struct{} // closed when pods are not watched any more
}

// open starts it. What it returns is to be closed even after an error.
func open(ctx context.Context, p plan) (b *bench, err error) {
	ctx, stop := context.WithCancel(ctx)
	b = &bench{plan: p, pods: testbed.NewBoard[*v1.Pod](), stop: stop}
	if b.work, err = os.MkdirTemp("", "lifepod-bench-groups-"); err != nil {
		return b, err
	}
	testbed.Progress("starting a control plane, the JobSet controller and %d nodes", p.nodes)
	if b.plane, err = controlplane.Start(ctx, controlplane.Config{Audit: true}); err != nil {
		return b, err
	}
	if b.api, err = kubernetes.NewForConfig(b.plane.RESTConfig()); err != nil {
		return b, err
	}
	for _, dir := range []string{"jobset", "shared"} {
		if err := os.Mkdir(filepath.Join(b.work, dir), 0o700); err != nil {
			return b, err
		}
	}
	if b.controller, err = jobset.Start(ctx, jobset.Config{Plane: b.plane, Dir: filepath.Join(b.work, "jobset")}); err != nil {
		return b, err
	}
	if err := b.controller.Grant(ctx); err != nil {
		return b, err
	}
	if err := b.startNodes(ctx); err != nil {
		return b, err
	}
	b.watched = make(chan struct{})
	go func() {
		defer close(b.watched)
		b.pods.Run(ctx, b.api.CoreV1().Pods(testbed.Namespace).Watch)
	}()
	return b, nil
}

func (b *bench) startNodes(ctx context.Context) error {
	for range b.plan.nodes {
		node, err := member.Start(ctx, member.Config{Plane: b.plane, Program: b.plan.lifepod})
		if err != nil {
			return err
		}
		b.nodes = append(b.nodes, node)
	}
	for _, node := range b.nodes {
		if err := node.AwaitReady(ctx); err != nil {
			return err
		}
	}
	return nil
}

// measure lets the JobSet restart, and prints what that took.
func (b *bench) measure(ctx context.Context) error {
	testbed.Progress("creating a JobSet of %d pods", b.size())
	if _, err := b.plane.Kubectl(ctx, b.manifest(), "apply", "--filename=-"); err != nil {
		return err
	}
	if _, err := b.awaitAttempt(ctx, 0); err != nil {
		return err
	}
	all := results{writes: map[string]int{}}
	for round := range b.plan.n + 1 {
		testbed.Progress("round %d of %d", round, b.plan.n)
		took, writes, err := b.round(ctx, round)
		if err != nil {
			return fmt.Errorf("round %d: %w", round, err)
		}
		if round > 0 {
			all.add(took, writes)
		}
	}
	all.print(b.plan)
	return nil
}

// settleTime is how long after a round its writes are awaited: longer than any node waits before it tells of an event.
const settleTime = 12 * time.Second

// round has one worker exit and waits until all run again.
func (b *bench) round(ctx context.Context, round int) (took time.Duration, writes map[string]int, err error) {
	mark, err := b.auditSize()
	if err != nil {
		return 0, nil, err
	}
	names := b.names()
	began := time.Now()
	if err := os.WriteFile(filepath.Join(b.work, "shared", "fail-"+names[round%len(names)]), nil, 0o600); err != nil {
		return 0, nil, err
	}
	at, err := b.awaitAttempt(ctx, round+1)
	if err != nil {
		return 0, nil, err
	}
	if err := testbed.Sleep(ctx, settleTime); err != nil {
		return 0, nil, err
	}
	writes, err = b.writesSince(mark)
	return at.Sub(began), writes, err
}

// close ends everything. After a failure it shows the end of the logs.
func (b *bench) close(failed error) error {
	errs := []error{failed}
	if failed != nil && b.api != nil {
		errs = append(errs, b.shown())
	}
	if b.api != nil {
		errs = append(errs, b.deleteAll())
	}
	b.stop()
	if b.watched != nil {
		<-b.watched
	}
	for _, node := range b.nodes {
		errs = append(errs, node.Close())
	}
	if b.controller != nil {
		errs = append(errs, b.controller.Close())
	}
	if b.plane != nil {
		errs = append(errs, b.plane.Close())
	}
	return errors.Join(append(errs, os.RemoveAll(b.work))...)
}

// shown is what a failure may come from.
func (b *bench) shown() error {
	ctx, cancel := context.WithTimeout(context.Background(), testbed.Patience)
	defer cancel()
	pods, err := b.plane.Kubectl(ctx, "", "get", "pods", "--output=wide")
	return errors.Join(fmt.Errorf("the pods:\n%s", pods), err)
}

// deleteAll deletes the JobSets and waits until their pods are gone.
func (b *bench) deleteAll() error {
	ctx, cancel := context.WithTimeout(context.Background(), testbed.Patience)
	defer cancel()
	_, err := b.plane.Kubectl(ctx, "", "delete", "jobsets", "--all", "--ignore-not-found", "--cascade=foreground", "--timeout=120s")
	return err
}
