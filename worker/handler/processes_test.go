package handler

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/opencontainers/cgroups"
	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/internal/pidfd"
)

// realProcesses is a runtime whose one container is a cgroup: it begins commands there, and ends of one that is given up
// only the process that it has begun, as runtimes do.
type realProcesses struct {
	runtimeapi.RuntimeServiceClient
	id, cgroup string
	first      *exec.Cmd
}

func newRealProcesses(t *testing.T) *realProcesses {
	r := &realProcesses{id: fmt.Sprintf("lifepod-test-%d", os.Getpid())}
	r.cgroup = filepath.Join("/sys/fs/cgroup/pids", r.id+".scope")
	if cgroups.IsCgroup2UnifiedMode() {
		r.cgroup = filepath.Join("/sys/fs/cgroup", r.id+".scope")
	}
	assert.Must(t, os.Mkdir(r.cgroup, 0o700))
	t.Cleanup(func() {
		assert.NoError(t, pidfd.KillCgroups(context.Background(), r.cgroup))
		assert.NoError(t, os.Remove(r.cgroup))
	})
	r.first, _ = r.begin([]string{"sh", "-c", "setsid sleep 1000 & sleep 1000; true"})
	go func() { _ = r.first.Wait() }()
	r.await(t, 3)
	return r
}

// begin begins a process in the container, whose output is read.
func (r *realProcesses) begin(args []string) (*exec.Cmd, io.Reader) {
	c := exec.Command("sh", append([]string{"-c", `echo $$ > ` + r.cgroup + `/cgroup.procs && exec "$@"`, "sh"}, args...)...)
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	read, write, err := os.Pipe()
	if err != nil {
		panic(err)
	}
	c.Stdout = write
	if err := errors.Join(c.Start(), write.Close()); err != nil {
		panic(err)
	}
	return c, read
}

// await waits until so many processes run in the container.
func (r *realProcesses) await(t *testing.T, want int) {
	t.Helper()
	var inside map[int]bool
	for until := time.Now().Add(time.Minute); time.Now().Before(until); time.Sleep(time.Millisecond) {
		if inside = assert.Get(pidfd.InCgroups(r.cgroup)).Must(t); len(inside) == want {
			return
		}
	}
	assert.Equal(t, want, len(inside), "processes in the container")
}

// ContainerStatus tells the first process.
func (r *realProcesses) ContainerStatus(context.Context, *runtimeapi.ContainerStatusRequest, ...grpc.CallOption) (*runtimeapi.ContainerStatusResponse, error) {
	return &runtimeapi.ContainerStatusResponse{Info: map[string]string{"info": fmt.Sprintf(`{"pid":%d}`, r.first.Process.Pid)}}, nil
}

// ExecSync waits for the end of a command's output.
func (r *realProcesses) ExecSync(ctx context.Context, in *runtimeapi.ExecSyncRequest, _ ...grpc.CallOption) (*runtimeapi.ExecSyncResponse, error) {
	c, out := r.begin(in.Cmd)
	ended := make(chan struct{})
	go func() { _ = c.Wait(); close(ended) }()
	written := make(chan []byte, 1)
	go func() { text, _ := io.ReadAll(out); written <- text }()
	select {
	case text := <-written:
		<-ended
		return &runtimeapi.ExecSyncResponse{Stdout: text, ExitCode: int32(c.ProcessState.ExitCode())}, nil
	case <-ctx.Done():
		_ = c.Process.Kill()
		return nil, status.FromContextError(ctx.Err()).Err()
	}
}

// TestCommandLeavesNothing: A-PROBE-13: of a command that is given up nothing is left, and of the container all else.
func TestCommandLeavesNothing(t *testing.T) {
	r := newRealProcesses(t)
	runner := NewRunner(r)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	run := func(timeout time.Duration, script string) error {
		_, err := runner.Run(ctx, Command{ContainerID: r.id, Args: []string{"sh", "-c", script}, Timeout: timeout})
		return err
	}
	assert.ErrorIs(t, ErrTimedOut, run(200*time.Millisecond, "sleep 99 & setsid sleep 99 & sleep 99; true"), "a command that hangs")
	r.await(t, 3)
	assert.ErrorIs(t, ErrTimedOut, run(200*time.Millisecond, "sleep 99 & exec sleep 99"), "one that has become another program")
	r.await(t, 3)
	err := run(time.Second, "sleep 99 & exit 3")
	held, is := errors.AsType[*HeldError](err)
	assert.True(t, is && held.Err != nil, "one that has ended, and has left its output: %v", err)
	r.await(t, 3)
	beside := make(chan error, 1)
	go func() { beside <- run(time.Hour, "sleep 99; true") }()
	r.await(t, 5)
	assert.ErrorIs(t, ErrTimedOut, run(200*time.Millisecond, "sleep 99; true"), "the second of two")
	r.await(t, 5)
	cancel()
	<-beside //nolint:errcheck // it was given up
}

// TestSessionLeavesNothing: of a command whose client goes nothing is left, whatever it has become; of one that has ended
// what it has begun goes on.
func TestSessionLeavesNothing(t *testing.T) {
	r := newRealProcesses(t)
	runner := NewRunner(r)
	for script, want := range map[string]int{
		"trap '' HUP; sleep 99 & setsid sleep 99 & sleep 99; true": 4, "exec sleep 99": 1, "sleep 99 & sleep 99; true": 3,
	} {
		args := []string{"sh", "-c", script}
		s := assert.Get(runner.Begin(t.Context(), r.id, args)).Must(t)
		c, _ := r.begin(args)
		go func() { _ = c.Wait() }()
		r.await(t, 3+want)
		s.recognised(t)
		assert.NoError(t, s.End(), "%s", script)
		r.await(t, 3)
	}
	args := []string{"sh", "-c", "sleep 99 & sleep 99; true"}
	s := assert.Get(runner.Begin(t.Context(), r.id, args)).Must(t)
	c, _ := r.begin(args)
	r.await(t, 6)
	s.recognised(t)
	assert.Must(t, c.Process.Kill())
	_ = c.Wait()
	assert.NoError(t, s.End())
	r.await(t, 5)
}

// recognised waits until the session's process is known.
func (s *Session) recognised(t *testing.T) {
	s.looked.Wait()
	assert.True(t, s.process != nil, "the session's process is not known: %v", s.view.recent)
}
