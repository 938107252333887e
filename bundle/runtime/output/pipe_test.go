package output

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	taskapi "github.com/containerd/containerd/api/runtime/task/v3"
	tasktypes "github.com/containerd/containerd/api/types/task"
	"golang.org/x/sys/unix"

	"github.com/lifepod/lifepod/bundle/runtime/internal/assert"
)

// tasks is a task service with one container.
type tasks struct {
	taskapi.TTRPCTaskService
	state *taskapi.StateResponse
}

func (t tasks) State(context.Context, *taskapi.StateRequest) (*taskapi.StateResponse, error) {
	return t.state, nil
}

// fifo is a new named pipe, and both of its ends.
func fifo(t *testing.T) (path string, in, out *os.File) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "stdout")
	assert.Must(t, unix.Mkfifo(path, 0o600))
	out = assert.Get(os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)).Must(t)
	t.Cleanup(func() { _ = out.Close() })
	in = assert.Get(os.OpenFile(path, os.O_WRONLY, 0)).Must(t)
	t.Cleanup(func() { _ = in.Close() })
	return path, in, out
}

// ask asks for the state, and gives the answer back when it is there.
func ask(t *testing.T, of *taskapi.StateResponse) <-chan error {
	t.Helper()
	answered := make(chan error, 1)
	go func() {
		_, err := Service{tasks{state: of}}.State(t.Context(), &taskapi.StateRequest{})
		answered <- err
	}()
	return answered
}

func waits(t *testing.T, answered <-chan error, why string) {
	t.Helper()
	select {
	case err := <-answered:
		t.Errorf("the state is told although %s (%v)", why, err)
	case <-time.After(50 * time.Millisecond):
	}
}

// The state of an ended container waits for who copies its output, and for who reads it; nothing of it is taken.
func TestStateWaitsForTheOutput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path, in, out := fifo(t)
		answered := ask(t, &taskapi.StateResponse{Status: tasktypes.Status_STOPPED, Stdout: path})
		waits(t, answered, "something may still be written")
		assert.Must(t, assert.ErrorOf(in.WriteString("last words\n")))
		assert.Must(t, in.Close())
		waits(t, answered, "nobody has read it")
		text := make([]byte, 100)
		n, err := out.Read(text)
		if err != nil || string(text[:n]) != "last words\n" {
			t.Errorf("read %q, %v", text[:n], err)
		}
		assert.NoError(t, <-answered)
	})
}

// Nobody waits for what has no end yet, or no pipe.
func TestStateIsReportedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path, in, _ := fifo(t)
		assert.Must(t, assert.ErrorOf(in.WriteString("words\n")))
		file := filepath.Join(t.TempDir(), "file")
		assert.Must(t, os.WriteFile(file, []byte("words\n"), 0o600))
		for name, state := range map[string]*taskapi.StateResponse{
			"runs":      {Status: tasktypes.Status_RUNNING, Stdout: path},
			"no output": {Status: tasktypes.Status_STOPPED},
			"a file":    {Status: tasktypes.Status_STOPPED, Stdout: file, Stderr: "binary:///bin/logger"},
			"gone":      {Status: tasktypes.Status_STOPPED, Stdout: filepath.Join(file, "..", "none")},
		} {
			began := time.Now()
			if err := <-ask(t, state); err != nil || time.Since(began) != 0 {
				t.Errorf("%s: %v after %v", name, err, time.Since(began))
			}
		}
	})
}

// A pipe that another process keeps open holds nobody up for ever.
func TestStateIsReportedInTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path, _, _ := fifo(t)
		began := time.Now()
		err := <-ask(t, &taskapi.StateResponse{Status: tasktypes.Status_STOPPED, Stdout: path})
		if took := time.Since(began); err != nil || took < patience || took > patience+longPause {
			t.Errorf("%v after %v, want %v", err, took, patience)
		}
	})
}
