package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/lifepod/lifepod/bench/testbed"
	"github.com/lifepod/lifepod/e2e/controlplane"
	"github.com/lifepod/lifepod/e2e/jobset"
	"github.com/lifepod/lifepod/lifecycle"
)

// manyRequests is a rate of requests a second that limits nobody.
const manyRequests = 10000

// What workers write: one as it exits, all when they start.
const exits, starts = "exits", "starts"

const jobSetManifest = `
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: train}
spec:
  failurePolicy: {maxRestarts: 1000000, restartStrategy: InPlaceRestart}
  network: {enableDNSHostnames: NAMES}
  replicatedJobs:
  - name: workers
    replicas: 1
    template:
      spec:
        backoffLimit: 2147483647
        backoffLimitPerIndex: 2147483647
        podReplacementPolicy: Failed
        completions: PODS
        parallelism: PODS
        template:
          metadata: {annotations: {lifepod.dev/group: jobset}}
          spec:
            restartPolicy: Never
            automountServiceAccountToken: false
            nodeSelector: {lifepod.dev/simulated: "true"}
            containers:
            - name: worker
              image: lifepod.dev/toolbox:1
              restartPolicy: Never
              restartPolicyRules:
              - action: RestartAllContainers
                exitCodes: {operator: NotIn, values: [0]}
`

// bench is a control plane with the JobSet controller and simulated nodes.
type bench struct {
	plan    plan
	plane   *controlplane.ControlPlane
	client  kubernetes.Interface
	jobset  *jobset.Controller
	pods    *testbed.Board[*v1.Pod] // of the JobSet
	exited  chan time.Time          // when a worker has exited
	started started
	nodes   *exec.Cmd
	all     results
	closers testbed.Closers
}

// open starts everything but the JobSet. After an error nothing is left.
func open(ctx context.Context, p plan) (b *bench, err error) {
	b = &bench{plan: p, pods: testbed.NewBoard[*v1.Pod](), exited: make(chan time.Time, 1)}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.closers.Close())
		}
	}()
	dir, err := os.MkdirTemp("", "lifepod-bench-groups-")
	if err != nil {
		return b, err
	}
	b.closers.Add(func() error { return os.RemoveAll(dir) })
	testbed.Progress("control plane")
	if b.plane, err = controlplane.StartParts(ctx, controlplane.Parts{QPS: p.qps}); err != nil {
		return b, err
	}
	b.closers.Add(b.plane.Close)
	if b.client, err = newClient(b.plane.RESTConfig()); err != nil {
		return b, err
	}
	if b.jobset, err = jobset.Start(ctx, jobset.Config{Plane: b.plane, Dir: dir, QPS: manyRequests}); err != nil {
		return b, err
	}
	b.closers.Add(b.jobset.Close)
	return b, b.startNodes(ctx, dir)
}

func newClient(config *rest.Config) (kubernetes.Interface, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1
	config.AcceptContentTypes, config.ContentType = runtime.ContentTypeProtobuf+","+runtime.ContentTypeJSON, runtime.ContentTypeProtobuf
	return kubernetes.NewForConfig(config)
}

// startNodes starts the process of the nodes and waits until the cluster knows them.
func (b *bench) startNodes(ctx context.Context, dir string) error {
	testbed.Progress("%d nodes", b.plan.pods)
	scenarios, err := b.writeScenarios(dir)
	if err != nil {
		return err
	}
	own, err := os.Executable()
	if err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(dir, "nodes.log"))
	if err != nil {
		return err
	}
	b.closers.Add(log.Close)
	args := []string{nodesCommand, "--count", fmt.Sprint(b.plan.pods), "--kubeconfig", b.plane.Kubeconfig(), "--max-pods", "1"}
	b.nodes = exec.Command(own, append(args, scenarios...)...)
	b.nodes.Stderr = log
	b.nodes.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := b.nodes.StdoutPipe()
	if err != nil {
		return err
	}
	if err := b.nodes.Start(); err != nil {
		return err
	}
	ready := make(chan struct{})
	var reading sync.WaitGroup
	reading.Go(func() { b.read(out, ready) })
	b.closers.Add(func() error {
		err := b.nodes.Process.Signal(syscall.SIGTERM)
		reading.Wait()
		_ = b.nodes.Wait() // ended by the signal
		return err
	})
	select {
	case <-ready:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// writeScenarios writes what happens to containers, and returns the flags that say so.
func (b *bench) writeScenarios(dir string) (flags []string, err error) {
	write := func(name, kind, text string, flag, what string) {
		file := filepath.Join(dir, name)
		text = "apiVersion: lifepod.dev/v1alpha1\nkind: " + kind + "\n" + text + "\n"
		err = errors.Join(err, os.WriteFile(file, []byte(text), 0o600))
		flags = append(flags, flag, what+file)
	}
	write("runs.yaml", "Scenario", fmt.Sprintf("containers: {worker: {runs: [{run: forever, output: [{text: %s}]}]}}", starts), "--scenario", "")
	exit := func(after time.Duration) string {
		return fmt.Sprintf("{run: %[1]s, exit: 3, output: [{text: %[3]s}, {at: %[1]s, text: %[2]s}]}", after, exits, starts)
	}
	first := b.plan.every + time.Duration(b.plan.pods)*startingEach
	write("exits.yaml", "Scenario", fmt.Sprintf("containers: {worker: {runs: [%s, %s]}}", exit(first), exit(b.plan.every)), "--scenario", "default/train-workers-0-0-*=")
	return flags, err
}

// startingEach is how much longer the worker waits that exits, for each pod, when the JobSet is new: it may be the first that runs.
const startingEach = 60 * time.Millisecond

// started is when all workers have started since one has exited.
type started struct {
	mu    sync.Mutex
	count int
	last  time.Time
}

// begin forgets the starts of the attempt before.
func (s *started) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count = 0
}

func (s *started) one(at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count, s.last = s.count+1, at
}

// all is when the last of so many has started; false: not all have.
func (s *started) all(count int) (time.Time, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last, s.count >= count
}

// read reads what the nodes print: that the cluster knows them, and when workers exit and start.
func (b *bench) read(out io.Reader, ready chan<- struct{}) {
	for lines := bufio.NewScanner(out); lines.Scan(); {
		now := time.Now()
		switch line := lines.Bytes(); {
		case bytes.Contains(line, []byte("members of the cluster")):
			testbed.Progress("%s", line)
			close(ready)
		case bytes.HasSuffix(line, []byte(": "+starts)):
			b.started.one(now)
		case bytes.HasSuffix(line, []byte(": "+exits)):
			b.started.begin()
			select {
			case b.exited <- now:
			default: // nobody waits any more
			}
		}
	}
}

// startJobSet creates the one that is measured, and waits until all pods run.
func (b *bench) startJobSet(ctx context.Context) error {
	testbed.Progress("a JobSet with %d pods", b.plan.pods)
	watching, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() {
		b.pods.Run(watching, func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.LabelSelector = lifecycle.JobSetLabel + "=train"
			return b.client.CoreV1().Pods(metav1.NamespaceDefault).Watch(ctx, options)
		})
	})
	b.closers.Add(func() error { cancel(); running.Wait(); return nil })
	began := time.Now()
	text := strings.NewReplacer("NAMES", fmt.Sprint(b.plan.names), "PODS", fmt.Sprint(b.plan.pods)).Replace(jobSetManifest)
	if _, err := b.plane.Kubectl(ctx, text, "apply", "--filename=-"); err != nil {
		return err
	}
	at, err := b.awaitAttempt(ctx, 0)
	testbed.Progress("all run for the first time after %v", ms(at.Sub(began)))
	return err
}
