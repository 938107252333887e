package sandbox

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2/manager"
	"github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2/runc"
	"github.com/containerd/containerd/v2/pkg/shim"
	"github.com/containerd/log"
	"golang.org/x/sys/unix"

	"github.com/lifepod/lifepod/bundle/runtime/sandbox/record"
)

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
