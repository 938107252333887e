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
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/lifepod/lifepod/bench/process"
	"github.com/lifepod/lifepod/bench/testbed"
	"github.com/lifepod/lifepod/e2e/controlplane"
	"github.com/lifepod/lifepod/e2e/jobset"
)

// manyRequests is a rate of requests a second that limits nobody.
const manyRequests = 10000

// What workers write: one as it exits, all when they start.
const exits, starts = "exits", "starts"

const jobSetManifest = `
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: NAME}
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
            schedulerName: SCHEDULER
            nodeName: NODE
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
	seen    *observer
	exited  chan time.Time // when a worker has exited
	started started
	nodes   *exec.Cmd
	pids    map[string]int
	last    map[string]time.Duration // how long what is measured took the last time
	all     results
	closers testbed.Closers
}

// open starts everything but the JobSet. After an error nothing is left.
func open(ctx context.Context, p plan) (b *bench, err error) {
	b = &bench{plan: p, exited: make(chan time.Time, 1), last: map[string]time.Duration{}}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.closers.Close())
		}
	}()
	dir := p.logs
	if dir == "" {
		if dir, err = os.MkdirTemp("", "lifepod-bench-groups-"); err != nil {
			return b, err
		}
		b.closers.Add(func() error { return os.RemoveAll(dir) })
	}
	testbed.Progress("control plane")
	if b.plane, err = controlplane.StartParts(ctx, controlplane.Parts{QPS: p.qps, Profile: p.logs != ""}); err != nil {
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
	if err := b.startNodes(ctx, dir); err != nil {
		return b, err
	}
	of := b.plane.PIDs()
	b.pids = map[string]int{"etcd": of[0], "API server": of[1], "scheduler": of[2], "controllers": of[3],
		"JobSet controller": b.jobset.PID(), "nodes": b.nodes.Process.Pid, "this program": os.Getpid()}
	return b, nil
}

func newClient(config *rest.Config) (kubernetes.Interface, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1
	config.AcceptContentTypes, config.ContentType = runtime.ContentTypeProtobuf+","+runtime.ContentTypeJSON, runtime.ContentTypeProtobuf
	return kubernetes.NewForConfig(config)
}

// startNodes starts the process of the nodes and waits until the cluster knows them.
func (b *bench) startNodes(ctx context.Context, dir string) error {
	testbed.Progress("%d nodes", b.plan.pods+b.plan.spare())
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
	args := []string{nodesCommand, "--count", fmt.Sprint(b.plan.pods + b.plan.spare()), "--kubeconfig", b.plane.Kubeconfig(), "--max-pods", "1"}
	b.nodes = exec.Command(own, append(args, scenarios...)...)
	b.nodes.Stderr, b.nodes.Env = log, os.Environ()
	b.nodes.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if b.plan.logs != "" {
		b.nodes.Env = append(b.nodes.Env, profileVariable+"="+filepath.Join(dir, "nodes.prof"))
	}
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

// writeScenarios writes what happens to containers and nodes, and returns the flags that say so.
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
	if b.plan.slow > 0 {
		write("nodes.yaml", "NodeScenario", fmt.Sprintf("nodes: [{share: %v%%, slow: 10}]", b.plan.slow), "--node-scenario", "")
	}
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
func (b *bench) startJobSet(ctx context.Context) (err error) {
	testbed.Progress("a JobSet with %d pods", b.plan.pods)
	began := time.Now()
	if b.seen, err = b.createJobSet(ctx, jobSet{namespace: metav1.NamespaceDefault, name: "train", scheduler: v1.DefaultSchedulerName}); err != nil {
		return err
	}
	r, err := b.seen.await(ctx, 0, allRun)
	testbed.Progress("all run for the first time after %v", r.all.Sub(began).Round(time.Millisecond))
	return err
}

// jobSet is a JobSet. Each of its pods is a member of its group.
type jobSet struct {
	namespace, name, scheduler string
	node                       string // of all pods; empty: the scheduler chooses
}

// createJobSet creates it; what becomes of it is seen until the end.
func (b *bench) createJobSet(ctx context.Context, j jobSet) (*observer, error) {
	watching, cancel := context.WithCancel(ctx)
	seen, err := observe(watching, b.plane.RESTConfig(), j, b.plan.pods)
	if err != nil {
		cancel()
		return nil, err
	}
	b.closers.Add(func() error { cancel(); seen.running.Wait(); return nil })
	text := strings.NewReplacer("NAMES", fmt.Sprint(b.plan.names), "NAME", j.name, "PODS", fmt.Sprint(b.plan.pods), "SCHEDULER", j.scheduler, "NODE", j.node).
		Replace(jobSetManifest)
	_, err = b.plane.Kubectl(ctx, text, "apply", "--namespace", j.namespace, "--filename=-")
	return seen, err
}

// cpu is what each process has used.
func (b *bench) cpu() (map[string]time.Duration, error) {
	used := map[string]time.Duration{}
	for name, pid := range b.pids {
		t, err := process.CPUTime(pid)
		if err != nil {
			return nil, err
		}
		used[name] = t
	}
	return used, nil
}
