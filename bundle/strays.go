package bundle

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/lifepod/lifepod/internal/children"
)

// KillStrayShims ends the shims of this root that belong to no sandbox:
// containerd loses one that it is starting when the caller of RunPodSandbox is
// killed. It reads the machine's whole process list, so it is for those who
// sweep up.
func (r *Runtime) KillStrayShims(ctx context.Context) error {
	arguments, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		panic(err) // the pattern is right
	}
	var errs []error
	for _, file := range arguments {
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err == nil && r.paths.isStrayShim(file) {
			errs = append(errs, r.killStray(ctx, pid, file))
		}
	}
	return errors.Join(errs...)
}

// isStrayShim says whether a command line is that of a shim of our containerd
// whose sandbox's folder is gone. The folder is made before the shim.
func (p Paths) isStrayShim(cmdline string) bool {
	id := p.sandboxOfShim(cmdline)
	_, err := os.Stat(filepath.Join(p.state(), "io.containerd.runtime.v2.task/k8s.io", id))
	return id != "" && errors.Is(err, fs.ErrNotExist)
}

// sandboxOfShim is the sandbox of a shim of our containerd, empty if the command
// line is that of something else: a task that CRI has not made, or the same program
// as it starts a shim or cleans up after one that died, which alone is told a bundle.
func (p Paths) sandboxOfShim(cmdline string) string {
	text, err := os.ReadFile(cmdline)
	if err != nil {
		return "" // it has ended
	}
	arguments := strings.Split(string(text), "\x00")
	if filepath.Base(arguments[0]) != filepath.Base(p.Shim()) || valueOf(arguments, "-address") != p.Socket() {
		return ""
	}
	if valueOf(arguments, "-namespace") != criNamespace || valueOf(arguments, "-bundle") != "" {
		return ""
	}
	return valueOf(arguments, "-id")
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

func (r *Runtime) killStray(ctx context.Context, pid int, cmdline string) error {
	ticks, err := startTicks(pid)
	if err != nil {
		return nil // it has ended
	}
	stray, err := watch(identity{PID: pid, StartTicks: ticks})
	if errors.Is(err, errGone) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("end a stray shim: %w", err)
	}
	defer stray.release()
	if !r.paths.isStrayShim(cmdline) { // another process has the pid now
		return nil
	}
	children.Kill(pid)
	return stray.stop(ctx, 0)
}
