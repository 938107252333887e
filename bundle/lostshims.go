package bundle

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/cri"
	"github.com/lifepod/lifepod/internal/children"
)

// lostInterval is the time between two looks at shims that may be lost, and
// lostLooks how many of them have to find one unknown before it is ended: it may
// be of a sandbox that is just being made, which takes a second or two.
const (
	lostInterval = 10 * time.Second
	lostLooks    = 3
)

// suspects are shims that lived when a containerd or a caller of its may have been
// killed, and how often each was found to be unknown. A caller that dies while a
// container starts has containerd forget the container and its shim keep it: such
// a shim outlives its sandbox.
type suspects struct {
	paths Paths
	log   *slog.Logger
	shims map[int]string // the sandbox by the shim's process
	looks map[int]int
	// namespaces are older than the containerd that runs.
	namespaces []string
}

func newSuspects(d *daemon) *suspects {
	return &suspects{paths: d.paths, log: d.log, shims: d.paths.shims(), looks: map[int]int{}, namespaces: d.older}
}

// look ends and removes what is lost. It costs nothing once all suspects have ended.
func (s *suspects) look(ctx context.Context) {
	if len(s.namespaces) > 0 {
		if err := s.paths.removeLostNamespaces(ctx, s.namespaces, s.log); err != nil {
			s.log.Debug("look for network namespaces that containerd has lost", "err", err)
		} else {
			s.namespaces = nil
		}
	}
	for pid, sandbox := range s.shims {
		if s.paths.sandboxOfShim(fmt.Sprintf("/proc/%d/cmdline", pid)) != sandbox {
			delete(s.shims, pid)
		}
	}
	if len(s.shims) == 0 {
		return
	}
	if err := s.paths.endLostTasks(ctx, s.log); err != nil {
		s.log.Debug("look for tasks that containerd has lost", "err", err)
	}
	known, err := s.paths.knownSandboxes(ctx)
	if err != nil {
		return // the next look is not far
	}
	for pid, sandbox := range s.shims {
		if known[sandbox] {
			delete(s.looks, pid)
			continue
		}
		if s.looks[pid]++; s.looks[pid] < lostLooks {
			continue
		}
		s.log.Warn("a shim that containerd has lost is ended", "pid", pid, "sandbox", sandbox)
		if err := s.paths.killShim(ctx, pid, sandbox); err != nil {
			s.log.Warn("a lost shim goes on", "pid", pid, "err", err)
		}
	}
}

// lostPatience bounds the question which sandboxes containerd knows.
const lostPatience = 2 * time.Second

// killLostShims ends the shims of this root whose sandbox containerd does not
// know: of a sandbox that was being made when its caller was killed containerd
// can leave shim and folder, and never looks at them again. It is for the only
// user of the root, who makes no sandbox any more.
func (p Paths) killLostShims(ctx context.Context) error {
	shims := p.shims()
	if len(shims) == 0 {
		return nil
	}
	known, err := p.knownSandboxes(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for pid, sandbox := range shims {
		if !known[sandbox] {
			errs = append(errs, p.killShim(ctx, pid, sandbox))
		}
	}
	return errors.Join(errs...)
}

// shims are the shims of our containerd that live, and the sandbox of each.
func (p Paths) shims() map[int]string {
	cmdlines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		panic(err) // the pattern is right
	}
	shims := map[int]string{}
	for _, cmdline := range cmdlines {
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(cmdline)))
		if sandbox := p.sandboxOfShim(cmdline); err == nil && sandbox != "" {
			shims[pid] = sandbox
		}
	}
	return shims
}

func (p Paths) knownSandboxes(ctx context.Context) (map[string]bool, error) {
	ctx, cancel := context.WithTimeout(ctx, lostPatience)
	defer cancel()
	client, err := cri.Dial("unix://" + p.Socket())
	if err != nil {
		return nil, err
	}
	defer func() { _ = client.Close() }() // it was only asked
	list, err := client.Runtime.ListPodSandbox(ctx, &runtimeapi.ListPodSandboxRequest{})
	if err != nil {
		return nil, fmt.Errorf("list sandboxes: %w", err)
	}
	known := map[string]bool{}
	for _, sandbox := range list.Items {
		known[sandbox.Id] = true
	}
	return known, nil
}

// killShim ends a shim, and with it what it keeps.
func (p Paths) killShim(ctx context.Context, pid int, sandbox string) error {
	ticks, err := startTicks(pid)
	if err != nil {
		return nil // it has ended
	}
	shim, err := watch(identity{PID: pid, StartTicks: ticks})
	if errors.Is(err, errGone) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("end a lost shim: %w", err)
	}
	defer shim.release()
	if p.sandboxOfShim(fmt.Sprintf("/proc/%d/cmdline", pid)) != sandbox {
		return nil // another process has the pid now
	}
	children.Kill(pid)
	if err := shim.stop(ctx, 0); err != nil {
		return err
	}
	return os.RemoveAll(filepath.Join(p.state(), "io.containerd.grpc.v1.cri/sandboxes", sandbox))
}
