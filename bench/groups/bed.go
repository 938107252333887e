package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

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

// bench is a control plane with the JobSet controller and simulated nodes.
type bench struct {
	plan    plan
	plane   *controlplane.ControlPlane
	client  kubernetes.Interface
	jobset  *jobset.Controller
	exited  chan time.Time // when a worker has exited
	started started
	nodes   *exec.Cmd
	pids    map[string]int
	closers testbed.Closers
}

// open starts everything but the groups. After an error nothing is left.
func open(ctx context.Context, p plan) (b *bench, err error) {
	b = &bench{plan: p, exited: make(chan time.Time, 1)}
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
	if err := b.startNodes(ctx, dir); err != nil {
		return b, err
	}
	of := b.plane.PIDs()
	b.pids = map[string]int{
		"etcd": of[0], apiServer: of[1], "scheduler": of[2], "controllers": of[3],
		"JobSet controller": b.jobset.PID(), "nodes": b.nodes.Process.Pid, "this program": os.Getpid(),
	}
	return b, nil
}

const apiServer = "API server"

func newClient(config *rest.Config) (kubernetes.Interface, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1
	config.AcceptContentTypes, config.ContentType = runtime.ContentTypeProtobuf+","+runtime.ContentTypeJSON, runtime.ContentTypeProtobuf
	return kubernetes.NewForConfig(config)
}

// startNodes starts the process of the nodes and waits until the cluster knows them.
func (b *bench) startNodes(ctx context.Context, dir string) error {
	count := b.plan.pods + b.plan.spare()
	testbed.Progress("%d nodes", count)
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
	args := []string{nodesCommand, "--count", fmt.Sprint(count), "--kubeconfig", b.plane.Kubeconfig(), "--max-pods", "1"}
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

// writeScenarios writes what happens to containers and nodes, and returns the flags that say so.
func (b *bench) writeScenarios(dir string) (flags []string, err error) {
	write := func(name, kind, text string, flag, what string) {
		file := filepath.Join(dir, name)
		text = "apiVersion: lifepod.dev/v1alpha1\nkind: " + kind + "\n" + text + "\n"
		err = errors.Join(err, os.WriteFile(file, []byte(text), 0o600))
		flags = append(flags, flag, what+file)
	}
	write("runs.yaml", "Scenario", fmt.Sprintf("containers: {worker: {runs: [{run: forever, output: [{text: %s}]}]}}", starts), "--scenario", "")
	exit := fmt.Sprintf("{run: %[1]s, exit: 3, output: [{text: %[3]s}, {at: %[1]s, text: %[2]s}]}", b.plan.every, exits, starts)
	for _, w := range ways(b.plan) {
		write(w.kind+".yaml", "Scenario", fmt.Sprintf("containers: {worker: {runs: [%s]}}", exit), "--scenario", "default/"+w.exits+"*=")
	}
	if b.plan.slow > 0 {
		write("nodes.yaml", "NodeScenario", fmt.Sprintf("nodes: [{share: %v%%, slow: 10}]", b.plan.slow), "--node-scenario", "")
	}
	return flags, err
}

// started is when workers have started since one has exited.
type started struct {
	mu    sync.Mutex
	count int
	last  time.Time
	next  time.Time // a worker that exits after some time has started; zero: it has not
}

// begin forgets the starts of the attempt before.
func (s *started) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count, s.next = 0, time.Time{}
}

func (s *started) one(at time.Time, exits bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.count, s.last = s.count+1, at; exits {
		s.next = at
	}
}

// all is when the last of so many has started; false: not all have.
func (s *started) all(count int) (time.Time, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last, s.count >= count
}

// exits is when the next worker exits, if so long after its start.
func (s *started) exits(after time.Duration) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.next.Add(after)
}

// read reads what the nodes print: that the cluster knows them, and when workers exit and start.
func (b *bench) read(out io.Reader, ready chan<- struct{}) {
	all := ways(b.plan)
	for lines := bufio.NewScanner(out); lines.Scan(); {
		now := time.Now()
		switch line := lines.Text(); {
		case strings.Contains(line, "members of the cluster"):
			testbed.Progress("%s", line)
			close(ready)
		case strings.HasSuffix(line, ": "+starts):
			b.started.one(now, slices.ContainsFunc(all, func(w way) bool { return strings.HasPrefix(line, "default/"+w.exits) }))
		case strings.HasSuffix(line, ": "+exits):
			b.started.begin()
			select {
			case b.exited <- now:
			default: // nobody waits any more
			}
		}
	}
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
