package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/lifepod/lifepod/bench/testbed"
	"github.com/lifepod/lifepod/e2e/controlplane"
	"github.com/lifepod/lifepod/e2e/jobset"
	"github.com/lifepod/lifepod/e2e/jobset/agents"
)

// bench is a cluster with the JobSet controller.
type bench struct {
	plan       plan
	work       string // folder of all files
	plane      *controlplane.ControlPlane
	api        kubernetes.Interface
	controller *jobset.Controller
	agents     *agents.Agents
	sides      []side
	pipes      pipes
	pods       *testbed.Board[*v1.Pod]
	closers    testbed.Closers
}

// open starts it. What it returns is to be closed even after an error.
func open(ctx context.Context, p plan) (b *bench, err error) {
	b = &bench{plan: p, pods: testbed.NewBoard[*v1.Pod]()}
	if b.work, err = os.MkdirTemp("", "lifepod-bench-groups-"); err != nil {
		return b, err
	}
	b.onClose(func() error { return os.RemoveAll(b.work) })
	b.pipes = pipes(filepath.Join(b.work, "shared"))
	testbed.Progress("starting a control plane, the JobSet controller and %d nodes", p.nodes)
	if err := b.startControlPlane(ctx); err != nil {
		return b, err
	}
	if err := b.startNodes(ctx); err != nil {
		return b, err
	}
	if err := b.serveAgents(ctx); err != nil {
		return b, err
	}
	b.watch()
	return b, nil
}

func (b *bench) startControlPlane(ctx context.Context) (err error) {
	if b.plane, err = controlplane.StartParts(ctx, controlplane.Parts{Audit: true}); err != nil {
		return err
	}
	b.onClose(b.plane.Close)
	if b.api, err = kubernetes.NewForConfig(b.plane.RESTConfig()); err != nil {
		return err
	}
	for _, dir := range []string{"jobset", "shared"} {
		if err := os.Mkdir(filepath.Join(b.work, dir), 0o700); err != nil {
			return err
		}
	}
	if b.controller, err = jobset.Start(ctx, jobset.Config{Plane: b.plane, Dir: filepath.Join(b.work, "jobset")}); err != nil {
		return err
	}
	b.onClose(b.controller.Close)
	return b.controller.Grant(ctx)
}

// watch follows the pods until close.
func (b *bench) watch() {
	ctx, stop := context.WithCancel(context.Background())
	var watching sync.WaitGroup
	watching.Go(func() { b.pods.Run(ctx, b.api.CoreV1().Pods(testbed.Namespace).Watch) })
	b.onClose(func() error { stop(); watching.Wait(); return nil })
}

// settleTime is how long after a restart its writes are awaited: longer than any node waits before it tells of an event.
const settleTime = 12 * time.Second

// measureRestart has one worker exit and waits until all run again.
func (b *bench) measureRestart(ctx context.Context, measureRestart int, at *standing) (took time.Duration, writes map[string]int, err error) {
	mark, err := testbed.AuditSize(b.plane)
	if err != nil {
		return 0, nil, err
	}
	exits := at.names[measureRestart%len(at.names)]
	began := time.Now()
	if err := b.pipes.sendExit(exits); err != nil {
		return 0, nil, err
	}
	next, ended, err := b.awaitAttempt(ctx, *at)
	if err != nil {
		return 0, nil, err
	}
	*at = next
	if err := testbed.Sleep(ctx, settleTime); err != nil {
		return 0, nil, err
	}
	writes, err = b.writesSince(mark)
	return ended.Sub(began), writes, err
}

func (b *bench) onClose(f func() error) { b.closers.Add(f) }

// close ends everything.
func (b *bench) close() error {
	testbed.Progress("cleaning up")
	return b.closers.Close()
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
