package bundle

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/lifepod/lifepod/internal/pidfd"
)

// KillStrayShims ends the shims of this root whose sandbox's folder is gone:
// containerd loses one that it is starting when the caller of RunPodSandbox is
// killed. It reads the machine's whole process list, so it is for those who
// sweep up.
func (r *Runtime) KillStrayShims(ctx context.Context) error {
	var errs []error
	for pid, sandbox := range r.paths.shims() {
		// The folder is made before the shim.
		if _, err := os.Stat(filepath.Join(r.paths.tasks(), sandbox)); errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, r.paths.endShim(ctx, pid, sandbox))
		}
	}
	return errors.Join(errs...)
}

// sandboxOfShim is the sandbox of a shim of our containerd, empty if the command
// line is that of something else: a task that CRI has not made, or the same program
// as it starts a shim or cleans up after one that died, which alone is told a bundle.
func (p Paths) sandboxOfShim(cmdline string) string {
	arguments := p.shimArguments(cmdline)
	if valueOf(arguments, "-namespace") != namespace || valueOf(arguments, "-bundle") != "" {
		return ""
	}
	return valueOf(arguments, "-id")
}

// shimArguments is a command line of the shim's program that our containerd has made;
// empty, if it is another's.
func (p Paths) shimArguments(cmdline string) []string {
	text, err := os.ReadFile(cmdline)
	if err != nil {
		return nil // it has ended
	}
	arguments := strings.Split(string(text), "\x00")
	if filepath.Base(arguments[0]) != filepath.Base(p.Shim()) || valueOf(arguments, "-address") != p.Socket() {
		return nil
	}
	return arguments
}

// cleanupPatience is how long what cleans up after a shim that died may take once
// containerd has ended.
const cleanupPatience = 5 * time.Second

// awaitCleanups waits for what cleans up after shims that died: containerd, which starts
// it, ends without it. What takes too long is killed.
func (p Paths) awaitCleanups(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, cleanupPatience)
	defer cancel()
	var errs []error
	for pid, cmdline := range commandLines() {
		if valueOf(p.shimArguments(cmdline), "-bundle") == "" {
			continue
		}
		cleanup, err := pidfd.OpenPID(pid)
		if errors.Is(err, pidfd.ErrEnded) {
			continue
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if valueOf(p.shimArguments(cmdline), "-bundle") != "" && cleanup.Wait(ctx) != nil {
			cleanup.KillChildren()
			errs = append(errs, cleanup.Stop(context.WithoutCancel(ctx), 0))
		}
		cleanup.Close()
	}
	return errors.Join(errs...)
}

// shimLives says whether any shim of our containerd lives.
func (p Paths) shimLives() bool { return len(p.shims()) > 0 }

// LiveSandboxes are the sandboxes of this root's containerd whose shims live. It reads
// the machine's whole process list.
func (p Paths) LiveSandboxes() map[string]bool {
	live := map[string]bool{}
	for _, sandbox := range p.shims() {
		live[sandbox] = true
	}
	return live
}

func valueOf(arguments []string, flag string) string {
	if i := slices.Index(arguments, flag); i >= 0 && i+1 < len(arguments) {
		return arguments[i+1]
	}
	return ""
}

// endShim ends a shim and its children, unless it has ended.
func (p Paths) endShim(ctx context.Context, pid int, sandbox string) error {
	shim, err := pidfd.OpenPID(pid)
	if errors.Is(err, pidfd.ErrEnded) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("end a shim: %w", err)
	}
	defer shim.Close()
	if p.sandboxOfShim(fmt.Sprintf("/proc/%d/cmdline", pid)) != sandbox {
		return nil // it has ended, and another process may have the PID now
	}
	shim.KillChildren()
	return shim.Stop(ctx, 0)
}
