package output

import (
	"context"
	"os"
	"time"

	taskapi "github.com/containerd/containerd/api/runtime/task/v3"
	tasktypes "github.com/containerd/containerd/api/types/task"
	"golang.org/x/sys/unix"
)

// Two looks at a pipe are that far apart at first, and at last.
const (
	firstPause = 100 * time.Microsecond
	longPause  = 5 * time.Millisecond
)

// awaitRead returns when a named pipe is empty and nobody writes to it. It returns at once if path is no such pipe.
func awaitRead(ctx context.Context, path string) {
	p := open(path)
	if p == nil {
		return
	}
	defer p.close()
	for pause := firstPause; !p.isRead() && ctx.Err() == nil; pause = min(2*pause, longPause) {
		time.Sleep(pause)
	}
}

// pipe is a named pipe that is looked at, not read.
type pipe struct {
	named         *os.File
	read, written int // of a second pipe, for what is seen
}

// open returns nil if there is no such pipe: the streams of a container may be files, programs or nothing.
func open(path string) *pipe {
	info, err := os.Stat(path)
	if err != nil || info.Mode().Type() != os.ModeNamedPipe {
		return nil
	}
	named, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil
	}
	var second [2]int
	if err := unix.Pipe2(second[:], unix.O_CLOEXEC); err != nil {
		_ = named.Close() // nothing was written
		return nil
	}
	return &pipe{named: named, read: second[0], written: second[1]}
}

func (p *pipe) close() {
	_, _, _ = p.named.Close(), unix.Close(p.read), unix.Close(p.written) // nothing was written
}

// isRead says that the pipe is empty, and stays so. tee(2) sees what is in a pipe without taking it out:
// one byte, or nothing if nobody is left to write, or that there may be something later.
func (p *pipe) isRead() bool {
	seen, err := unix.Tee(int(p.named.Fd()), p.written, 1, unix.SPLICE_F_NONBLOCK)
	if seen > 0 {
		_, _ = unix.Read(p.read, make([]byte, 1)) // makes room
		return false
	}
	return err != unix.EAGAIN && err != unix.EINTR
}

// patience is how long the state of a container that has ended may wait for its output: as long as
// the task service itself waits for that when the container is deleted. Another process may hold the pipe.
const patience = 2 * time.Second

// Service has the state of an ended container told when its output has been read.
type Service struct{ taskapi.TTRPCTaskService }

// State says what has become of a container.
func (s Service) State(ctx context.Context, r *taskapi.StateRequest) (*taskapi.StateResponse, error) {
	answer, err := s.TTRPCTaskService.State(ctx, r)
	if err != nil || r.ExecID != "" || answer.Status != tasktypes.Status_STOPPED {
		return answer, err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for _, path := range []string{answer.Stdout, answer.Stderr} {
		awaitRead(ctx, path)
	}
	return answer, nil
}
