package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2/manager"
	"github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2/runc"
	"github.com/containerd/containerd/v2/pkg/shim"
	"github.com/containerd/log"
	"golang.org/x/sys/unix"

	"github.com/lifepod/lifepod/bundle/runtime/sandbox/holder"
	"github.com/lifepod/lifepod/bundle/runtime/sandbox/record"
)

// programName is the file of the holder's program, which lies beside the shim.
const programName = "pod-sandbox"

// sandbox is one whose process runs, or has ended and is not deleted yet.
type sandbox struct {
	order
	record record.Record

	started bool // guarded by the service's mu
	// ended is closed when the process has ended, after exit is set.
	ended chan struct{}
	exit  holder.Exit
}

// order is what is known of a sandbox that is to be made.
type order struct {
	id     string
	bundle string
	plan   holder.Plan
	cgroup record.Cgroup
}

// create makes a sandbox. If it fails, nothing is left of it.
func create(ctx context.Context, o order) (_ *sandbox, err error) {
	program, err := beside(programName)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(o.cgroup.Explain(err), o.cgroup.Remove())
		}
	}()
	h, err := holder.Begin(program, o.plan, o.cgroup.Enter)
	if err != nil {
		return nil, err
	}
	defer h.Close()
	s := &sandbox{order: o, ended: make(chan struct{})}
	s.record.PID = h.PID
	go s.await(ctx, h)
	if err = s.note(); err == nil {
		err = h.Finish()
	}
	if err != nil {
		_ = unix.Kill(h.PID, unix.SIGKILL) // only this process reaps it
		<-s.ended
		if errors.Is(err, holder.ErrEnded) {
			err = fmt.Errorf("%w with code %d", err, s.exit.Status)
		}
		return nil, err
	}
	return s, nil
}

// beside is the path of a program that lies beside the shim's.
func beside(name string) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find %s: %w", name, err)
	}
	return filepath.Join(filepath.Dir(self), name), nil
}

// note writes down which process it is.
func (s *sandbox) note() (err error) {
	if s.record, err = record.Of(s.record.PID, s.cgroup); err != nil {
		return err
	}
	return s.record.Write(s.bundle)
}

// await notes the end of the process.
func (s *sandbox) await(ctx context.Context, h *holder.Holder) {
	s.exit = h.Exited()
	if err := runc.WriteExitStatus(s.bundle, s.exit); err != nil {
		log.G(ctx).WithError(err).Warn("note the end of a sandbox")
	}
	close(s.ended)
}

func (s *sandbox) hasEnded() bool {
	select {
	case <-s.ended:
		return true
	default:
		return false
	}
}

// kill sends the process a signal, unless it has ended. It is reaped by this process
// only: until then the PID is its own.
func (s *sandbox) kill(signal unix.Signal) {
	if !s.hasEnded() {
		_ = unix.Kill(s.record.PID, signal) // it may have ended just now
	}
}

// Shim is containerd's shim for runc, which also cleans up after sandboxes of this
// package.
type Shim struct{ shim.Shim }

// NewShim returns what shim.RunShim takes.
func NewShim() Shim { return Shim{manager.NewShimManager("io.containerd.runc.v2")} }

// Stop cleans up after a shim that has died: containerd calls it in a process of its
// own, once for each container of the shim.
func (s Shim) Stop(ctx context.Context, id string) (shim.StopStatus, error) {
	cwd, err := os.Getwd()
	if err != nil {
		return shim.StopStatus{}, err
	}
	bundle := filepath.Join(filepath.Dir(cwd), id)
	r, err := record.Read(bundle)
	if err != nil {
		return shim.StopStatus{}, err
	}
	if r == nil {
		return s.Shim.Stop(ctx, id)
	}
	if err := r.Remove(ctx); err != nil {
		log.G(ctx).WithError(err).Warn("clean up after a sandbox")
	}
	if exit, err := runc.ReadExitStatus(bundle); err == nil {
		return shim.StopStatus{ExitedAt: exit.Timestamp, ExitStatus: exit.Status, Pid: exit.Pid}, nil
	}
	return shim.StopStatus{ExitedAt: time.Now(), ExitStatus: 128 + int(unix.SIGKILL), Pid: r.PID}, nil
}
