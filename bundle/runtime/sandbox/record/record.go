package record

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/containerd/containerd/v2/pkg/atomicfile"
	"github.com/opencontainers/cgroups"
	"github.com/opencontainers/cgroups/manager"
	"github.com/opencontainers/runc/libcontainer/system"
	"golang.org/x/sys/unix"

	"github.com/lifepod/lifepod/bundle/runtime/sandbox/holder"
)

// name is a record's file in the bundle.
const name = "lifepod-sandbox.json"

// Record says which process a sandbox is, for those who clean up after its shim.
type Record struct {
	PID int `json:"pid"`
	// Start is the process's start time in clock ticks: the PID alone may be
	// another's by now.
	Start  uint64            `json:"start"`
	Cgroup *cgroups.Cgroup   `json:"cgroup"`
	Paths  map[string]string `json:"paths"`
}

// Of a process that runs in a cgroup.
func Of(pid int, cgroup Cgroup) (Record, error) {
	start, err := startOf(pid)
	if err != nil {
		return Record{}, err
	}
	config, err := cgroup.manager.GetCgroups()
	if err != nil {
		return Record{}, err
	}
	return Record{PID: pid, Start: start, Cgroup: config, Paths: cgroup.manager.GetPaths()}, nil
}

// Write puts the record, and the PID where runc puts it, into the bundle.
func (r Record) Write(bundle string) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return errors.Join(replace(filepath.Join(bundle, name), text),
		os.WriteFile(filepath.Join(bundle, "init.pid"), []byte(strconv.Itoa(r.PID)), 0o644))
}

func replace(path string, text []byte) error {
	file, err := atomicfile.New(path, 0o600)
	if err != nil {
		return err
	}
	if _, err := file.Write(text); err != nil {
		return errors.Join(err, file.Cancel())
	}
	return file.Close()
}

// Read returns nil if there is none: what the bundle is of, is not a sandbox
// of this package, or one that had not begun.
func Read(bundle string) (*Record, error) {
	text, err := os.ReadFile(filepath.Join(bundle, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the record of a sandbox: %w", err)
	}
	var r Record
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, fmt.Errorf("read the record of a sandbox: %w", err)
	}
	return &r, nil
}

// Remove ends the process, if it is still there, and removes its cgroup.
func (r Record) Remove(ctx context.Context) error {
	if err := r.end(ctx); err != nil {
		return fmt.Errorf("end the process of a sandbox: %w", err)
	}
	cgroup, err := manager.NewWithPaths(r.Cgroup, r.Paths)
	if err != nil {
		return fmt.Errorf("remove the cgroup of a sandbox: %w", err)
	}
	return Cgroup{cgroup}.Remove()
}

// end kills the process and waits for its end. It may be nobody's child any more.
func (r Record) end(ctx context.Context) error {
	process, err := unix.PidfdOpen(r.PID, 0)
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(process) }()
	if start, err := startOf(r.PID); err != nil || start != r.Start {
		return nil // it has ended, and the PID may be another's
	}
	if err := unix.PidfdSendSignal(process, unix.SIGKILL, nil, 0); err != nil {
		if errors.Is(err, unix.ESRCH) {
			return nil
		}
		return err
	}
	return awaitEnd(ctx, process)
}

// startOf is when a process has started, in clock ticks.
func startOf(pid int) (uint64, error) {
	stat, err := system.Stat(pid)
	if err != nil {
		return 0, fmt.Errorf("look at the process of a sandbox: %w", err)
	}
	return stat.StartTime, nil
}

// awaitEnd waits for the end of the process of a pidfd.
func awaitEnd(ctx context.Context, process int) error {
	ctx, cancel := context.WithTimeout(ctx, holder.Patience)
	defer cancel()
	for {
		const pollMillis = 100
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(process), Events: unix.POLLIN}}, pollMillis)
		if n > 0 {
			return nil
		}
		if err != nil && err != unix.EINTR {
			return fmt.Errorf("wait for its end: %w", err)
		}
		if ctx.Err() != nil {
			return fmt.Errorf("wait for its end: %w", context.Cause(ctx))
		}
	}
}
