package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/lifepod/lifepod/bench/process"
	"github.com/lifepod/lifepod/bench/seen"
	"github.com/lifepod/lifepod/bench/testbed"
	"github.com/lifepod/lifepod/e2e/controlplane"
	"github.com/lifepod/lifepod/e2e/machine"
	"github.com/lifepod/lifepod/e2e/member"
)

const (
	// restTime is how long the benchmark waits until a node counts as one at rest. By then lifepod has given back memory that it needs
	// no longer, and looks no more at pods of which nothing changes (worker/deadline.UnchangedEnough).
	restTime = 45 * time.Second
	// patience is how long anything may take.
	patience = 30 * time.Minute
)

// turn is the turn of one program.
type turn struct {
	plan    plan
	plane   *controlplane.ControlPlane
	client  kubernetes.Interface
	runtime *machine.Process
	node    *member.Member
	pods    *seen.Tally
	result  result
}

// measure measures one program. Afterwards nothing of it is left.
func measure(parent context.Context, p plan, plane *controlplane.ControlPlane, program string) (_ result, err error) {
	ctx, cancel := context.WithTimeoutCause(parent, patience, fmt.Errorf("not within %v", patience))
	defer cancel()
	t := &turn{plan: p, plane: plane, pods: seen.Pods(testbed.IsReady), result: result{program: filepath.Base(program)}}
	if t.client, err = testbed.NewClient(plane.RESTConfig()); err != nil {
		return t.result, err
	}
	dir, err := os.MkdirTemp("", "lifepod-bench-serve-")
	if err != nil {
		return t.result, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	watching, end := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer end()
	running.Go(func() { t.pods.Follow(watching, t.client, testbed.Namespace) })
	err = t.start(ctx, dir, program)
	if err == nil {
		err = t.live(ctx)
	}
	return t.result, errors.Join(err, t.close())
}

// start starts the runtime and the node.
func (t *turn) start(ctx context.Context, dir, program string) (err error) {
	socket := filepath.Join(dir, "cri.sock")
	serve := exec.Command(t.plan.lifepod, "sim", "serve", "--listen", "unix://"+socket)
	if t.runtime, err = machine.StartProcess(serve, filepath.Join(dir, "runtime.log")); err != nil {
		return err
	}
	if err := t.awaitSocket(ctx, socket); err != nil {
		return err
	}
	progress("%s as a node for %d pods", t.result.program, t.plan.pods)
	t.node, err = member.Start(ctx, member.Config{Plane: t.plane, Program: program, Kubelet: map[string]any{
		"containerRuntimeEndpoint": "unix://" + socket, "maxPods": t.plan.pods + 10, "kubeAPIQPS": 5000, "kubeAPIBurst": 10000,
		"registryPullQPS": 0, "eventRecordQPS": 0, "serializeImagePulls": false,
	}})
	if err != nil {
		return err
	}
	return t.node.AwaitReady(ctx)
}

func (t *turn) awaitSocket(ctx context.Context, socket string) error {
	for {
		if _, err := os.Stat(socket); err == nil {
			return nil
		}
		select {
		case <-t.runtime.Ended():
			return fmt.Errorf("the runtime has ended:\n%s", t.runtime.LastLines(10))
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// live creates the pods, waits until all are Ready, and deletes them.
func (t *turn) live(ctx context.Context) (err error) {
	if err = testbed.Sleep(ctx, restTime); err != nil {
		return err
	}
	if t.result.idle, err = t.memory(); err != nil {
		return err
	}
	if t.result.files.idle, err = process.OpenFiles(t.node.Process().PID()); err != nil {
		return err
	}
	before, err := t.usage()
	if err != nil {
		return err
	}
	endProfile := t.beginProfile(ctx)
	asked := make([]time.Time, t.plan.pods)
	began := time.Now()
	core := t.client.CoreV1().Pods(testbed.Namespace)
	err = testbed.Together(t.plan.creators, len(asked), func(i int) error {
		asked[i] = time.Now()
		_, err := core.Create(ctx, t.pod(i), metav1.CreateOptions{})
		return err
	})
	if err != nil {
		return err
	}
	t.result.created = time.Since(began)
	progress("created after %v", t.result.created.Round(time.Millisecond))
	if err = t.pods.AwaitReady(ctx, t.node.Process().Ended(), "the pods", len(asked)); err != nil {
		return err
	}
	t.result.took = t.pods.Latest().Sub(began)
	progress("Ready after %v", t.result.took.Round(time.Millisecond))
	now, err := t.usage()
	if err != nil {
		return err
	}
	t.result.used = now.minus(before)
	if err := endProfile(); err != nil {
		return err
	}
	for i, at := range asked {
		t.result.latencies = append(t.result.latencies, t.pods.ReadyAt(podName(i)).Sub(at))
	}
	if err = t.rest(ctx); err != nil {
		return err
	}
	began = time.Now()
	err = testbed.Together(t.plan.creators, len(asked), func(i int) error { return core.Delete(ctx, podName(i), metav1.DeleteOptions{}) })
	if err != nil {
		return err
	}
	err = t.pods.AwaitGone(ctx, t.node.Process().Ended(), "the pods")
	t.result.gone = time.Since(began)
	return err
}

// rest measures what the pods take while nothing happens.
func (t *turn) rest(ctx context.Context) (err error) {
	if err = testbed.Sleep(ctx, restTime); err != nil {
		return err
	}
	before, err := t.usage()
	if err != nil {
		return err
	}
	if err = testbed.Sleep(ctx, restTime); err != nil {
		return err
	}
	after, err := t.usage()
	if err != nil {
		return err
	}
	t.result.rest = after.minus(before)
	if t.result.files.busy, err = process.OpenFiles(t.node.Process().PID()); err != nil {
		return err
	}
	if t.result.busy, err = t.memory(); err != nil {
		return err
	}
	return t.profileRest(ctx)
}

// memory is the anonymous memory of the node and of the runtime in MiB.
func (t *turn) memory() (m memory, err error) {
	if _, m.node, err = process.Memory(t.node.Process().PID()); err != nil {
		return m, err
	}
	_, m.runtime, err = process.Memory(t.runtime.PID())
	return m, err
}

// usage is what the processes have used of the CPU.
func (t *turn) usage() (u usage, err error) {
	for pid, into := range map[int]*time.Duration{t.node.Process().PID(): &u.node, t.runtime.PID(): &u.runtime, t.plane.PIDs()[1]: &u.api} {
		if *into, err = process.CPUTime(pid); err != nil {
			return u, err
		}
	}
	return u, nil
}

// close ends the node and the runtime, and deletes the Node. When the context of the run has ended the control plane ends, too.
func (t *turn) close() (err error) {
	if t.node != nil {
		ctx, cancel := context.WithTimeout(context.Background(), testbed.Patience)
		defer cancel()
		err = errors.Join(t.node.Close(), t.client.CoreV1().Nodes().Delete(ctx, t.node.Name, metav1.DeleteOptions{}))
	}
	if t.runtime != nil {
		err = errors.Join(err, t.runtime.Kill())
	}
	return err
}

func podName(i int) string { return fmt.Sprint("pod-", i) }

func (t *turn) pod(i int) *v1.Pod {
	pod := testbed.NewPod(t.node.Name)
	pod.Name, pod.Spec.AutomountServiceAccountToken = podName(i), new(false)
	return pod
}
