package bundle

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/cri"
	"github.com/lifepod/lifepod/internal/pidfd"
)

// networkNamespaces are the mounts of pods' network namespaces.
func (p Paths) networkNamespaces() []string {
	found, err := filepath.Glob(filepath.Join(p.state(), "io.containerd.grpc.v1.cri", "netns", "*"))
	if err != nil {
		panic(err) // the pattern is right
	}
	return found
}

// removeLostNamespaces removes those of some network namespaces that no sandbox
// has. They must be older than the containerd that runs: one that is killed while
// it makes a sandbox leaves its namespace, and the next does not know it.
func (p Paths) removeLostNamespaces(ctx context.Context, older []string, log *slog.Logger) error {
	used, err := p.usedNamespaces(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, path := range older {
		if strings.Contains(used, filepath.Base(path)) {
			continue
		}
		if err := unix.Unmount(path, unix.MNT_DETACH); err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOENT) {
			errs = append(errs, fmt.Errorf("unmount %s: %w", path, err))
			continue
		}
		switch err := os.Remove(path); {
		case errors.Is(err, fs.ErrNotExist):
			continue // its sandbox was removed since
		case err != nil:
			errs = append(errs, err)
			continue
		}
		log.Warn("a network namespace that containerd has lost is removed", "path", path)
	}
	return errors.Join(errs...)
}

// usedNamespaces is text with the paths of all sandboxes' network namespaces.
func (p Paths) usedNamespaces(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, lostPatience)
	defer cancel()
	client, err := cri.Dial("unix://" + p.Socket())
	if err != nil {
		return "", err
	}
	defer func() { _ = client.Close() }() // it was only asked
	list, err := client.Runtime.ListPodSandbox(ctx, &runtimeapi.ListPodSandboxRequest{})
	if err != nil {
		return "", fmt.Errorf("list sandboxes: %w", err)
	}
	text := &strings.Builder{}
	for _, sandbox := range list.Items {
		answer, err := client.Runtime.PodSandboxStatus(ctx, &runtimeapi.PodSandboxStatusRequest{PodSandboxId: sandbox.Id, Verbose: true})
		switch {
		case cri.IsNotFound(err): // it has just gone, and its namespace with it
		case err != nil:
			return "", fmt.Errorf("status of sandbox %s: %w", sandbox.Id, err)
		case !saysNamespace(answer):
			return "", fmt.Errorf("sandbox %s does not say which network namespace it has", sandbox.Id)
		default:
			fmt.Fprintln(text, answer.Info)
		}
	}
	return text.String(), nil
}

// saysNamespace is true of all but a sandbox that lives in a network namespace of
// its own and does not name it: nothing could be known to be lost then.
func saysNamespace(answer *runtimeapi.PodSandboxStatusResponse) bool {
	ready := answer.GetStatus().GetState() == runtimeapi.PodSandboxState_SANDBOX_READY
	own := answer.GetStatus().GetLinux().GetNamespaces().GetOptions().GetNetwork() == runtimeapi.NamespaceMode_POD
	return !ready || !own || strings.Contains(fmt.Sprint(answer.Info), "/netns/")
}

// removeOthers removes the folders of other versions of the runtime that
// nobody uses. It is housekeeping: what it cannot do now, a later start does.
func (p *Paths) removeOthers() {
	entries, err := os.ReadDir(p.bundles())
	if err != nil {
		return
	}
	for _, e := range entries {
		if !e.IsDir() || e.Name() == filepath.Base(p.Bundle) {
			continue
		}
		only, err := tryLock(filepath.Join(p.bundles(), "lock"), unix.LOCK_EX)
		if err != nil {
			return
		}
		removeUnused(filepath.Join(p.bundles(), e.Name()))
		only.Close()
	}
}

// removeUnused removes one folder, unless a process of another version of
// lifepod has it open (it holds the lock of the mark), or one of its programs
// still runs: a shim keeps its containers across versions, and containerd
// calls the shim's program again to clean up after it.
func removeUnused(dir string) {
	mark, err := os.OpenFile(filepath.Join(dir, completeName), os.O_RDWR, 0)
	if err == nil {
		defer mark.Close()
		if relock(mark, unix.LOCK_EX) != nil {
			return
		}
	}
	if len(processesBelow(dir)) > 0 {
		return
	}
	partial := filepath.Join(filepath.Dir(dir), partialPrefix+filepath.Base(dir))
	if os.Rename(dir, partial) == nil {
		_ = os.RemoveAll(partial)
	}
}

// processesBelow lists the processes whose program lies below dir.
func processesBelow(dir string) []int {
	var pids []int
	all, _ := procfs.AllProcs() // none, if there is no /proc
	for _, proc := range all {
		if strings.HasPrefix(pidfd.Program(proc), dir+"/") {
			pids = append(pids, proc.PID)
		}
	}
	return pids
}
