package bundle

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	containersapi "github.com/containerd/containerd/api/services/containers/v1"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/cri"
)

// lostInterval is the time between two looks at shims that may be lost, and
// lostLooks how many of them have to find one unknown before it is ended: it may
// be of a sandbox that is just being made, which takes a second or two.
const (
	lostInterval = 10 * time.Second
	lostLooks    = 3
)

// lostShims are shims that containerd may have forgotten: such a shim outlives its sandbox. There are two kinds. A
// caller that dies while a container starts has containerd forget the container and
// its shim keep it; these are older than the containerd that runs, and unknown as
// soon as CRI has no such sandbox. A caller that gives up RunPodSandbox on a machine
// under load has containerd forget the sandbox whose shim does not end in the few
// seconds it is given; these are young, and only unknown once containerd has no
// container of that ID: one that is just being made has it before its shim. As a rule
// these are ended when containerd tells of the deletion of that container (deletions).
type lostShims struct {
	paths Paths
	log   *slog.Logger
	shims map[int]*suspect // by the shim's process
	// namespaces are older than the containerd that runs.
	namespaces []string
}

type suspect struct {
	sandbox string
	young   bool // it came later than containerd
	looks   int  // how often in a row it was found to be unknown
}

func newLostShims(d *daemon) *lostShims {
	s := &lostShims{paths: d.paths, log: d.log, shims: map[int]*suspect{}, namespaces: d.older}
	for pid, sandbox := range d.paths.shims() {
		s.shims[pid] = &suspect{sandbox: sandbox}
	}
	return s
}

// look ends and removes what is lost. It costs nothing once all of them have ended
// and no shim starts or ends.
func (s *lostShims) look(ctx context.Context) {
	if len(s.namespaces) > 0 {
		if err := s.paths.removeLostNamespaces(ctx, s.namespaces, s.log); err != nil {
			s.log.Debug("look for network namespaces that containerd has lost", "err", err)
		} else {
			s.namespaces = nil
		}
	}
	s.refresh()
	if len(s.shims) == 0 {
		return
	}
	if slices.ContainsFunc(slices.Collect(maps.Values(s.shims)), func(shim *suspect) bool { return !shim.young }) {
		if err := s.paths.endLostTasks(ctx, s.log); err != nil {
			s.log.Debug("look for tasks that containerd has lost", "err", err)
		}
	}
	client, known, err := s.paths.knownSandboxes(ctx)
	if err != nil {
		return // the next look is not far
	}
	defer func() { _ = client.Close() }() // it was only asked
	for pid, shim := range s.shims {
		switch {
		case known[shim.sandbox] && shim.young: // what its removal may leave is found when the next shim starts or ends
			delete(s.shims, pid)
		case known[shim.sandbox], shim.young && hasContainer(ctx, client, shim.sandbox):
			shim.looks = 0
		default:
			if shim.looks++; shim.looks >= lostLooks {
				s.end(ctx, pid, shim.sandbox)
			}
		}
	}
}

// endDeleted ends the shims of containers that containerd has deleted. It asks once
// only: no sandbox is made with an ID that was deleted, and by then a shim that was
// to end has ended.
func (s *lostShims) endDeleted(ctx context.Context, ids []string) {
	shims := s.paths.shims()
	maps.DeleteFunc(shims, func(_ int, sandbox string) bool { return !slices.Contains(ids, sandbox) })
	if len(shims) == 0 {
		return
	}
	client, known, err := s.paths.knownSandboxes(ctx)
	if err != nil {
		return // the periodic look ends them
	}
	defer func() { _ = client.Close() }() // it was only asked
	for pid, sandbox := range shims {
		if !known[sandbox] && !hasContainer(ctx, client, sandbox) {
			s.end(ctx, pid, sandbox)
		}
	}
}

// refresh forgets shims that have ended, and takes in what has just been started.
func (s *lostShims) refresh() {
	maps.DeleteFunc(s.shims, func(pid int, shim *suspect) bool {
		return s.paths.sandboxOfShim(fmt.Sprintf("/proc/%d/cmdline", pid)) != shim.sandbox
	})
	if !s.paths.shimsChange() {
		return
	}
	for pid, sandbox := range s.paths.shims() {
		if s.shims[pid] == nil {
			s.shims[pid] = &suspect{sandbox: sandbox, young: true}
		}
	}
}

func (s *lostShims) end(ctx context.Context, pid int, sandbox string) {
	s.log.Warn("a shim that containerd has lost is ended", "pid", pid, "sandbox", sandbox)
	if err := s.paths.killShim(ctx, pid, sandbox); err != nil {
		s.log.Warn("can't end a shim that containerd has lost", "pid", pid, "err", err)
		return
	}
	// containerd does it for a shim that it still has a connection to. The folder
	// stays until it starts again: it removes those without a container.
	rootfs := filepath.Join(s.paths.tasks(), sandbox, "rootfs")
	err := unix.Unmount(rootfs, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW)
	if err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOENT) {
		s.log.Warn("the file system of a lost shim stays mounted", "path", rootfs, "err", err)
	}
}

// shimsChange says whether a shim of our containerd has started or ended lately. Its
// process comes a moment after its socket.
func (p Paths) shimsChange() bool {
	sockets, err := os.Stat(p.shimSockets())
	return err == nil && time.Since(sockets.ModTime()) < lostLooks*lostInterval
}

// hasContainer says whether containerd has a container, as far as it answers.
func hasContainer(ctx context.Context, client *cri.Client, id string) bool {
	ctx, cancel := context.WithTimeout(ctx, lostPatience)
	defer cancel()
	ctx = metadata.AppendToOutgoingContext(ctx, "containerd-namespace", namespace)
	_, err := containersapi.NewContainersClient(client.Conn).Get(ctx, &containersapi.GetContainerRequest{ID: id})
	return status.Code(err) != codes.NotFound
}

// lostPatience bounds a question what containerd knows.
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
	client, known, err := p.knownSandboxes(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }() // it was only asked
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
	shims := map[int]string{}
	for pid, cmdline := range commandLines() {
		if sandbox := p.sandboxOfShim(cmdline); sandbox != "" {
			shims[pid] = sandbox
		}
	}
	return shims
}

// commandLines are the files with the command lines of the machine's processes, by PID; none where /proc can't be read, as with
// too many open files.
func commandLines() iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		entries, _ := os.ReadDir("/proc") // a glob would list the folder of each process, too
		for _, entry := range entries {
			pid, err := strconv.Atoi(entry.Name())
			if err == nil && !yield(pid, filepath.Join("/proc", entry.Name(), "cmdline")) {
				return
			}
		}
	}
}

// knownSandboxes are those that CRI has. The connection is for more questions.
func (p Paths) knownSandboxes(ctx context.Context) (client *cri.Client, known map[string]bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, lostPatience)
	defer cancel()
	if client, err = cri.Dial("unix://" + p.Socket()); err != nil {
		return nil, nil, err
	}
	list, err := client.Runtime.ListPodSandbox(ctx, &runtimeapi.ListPodSandboxRequest{})
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("list sandboxes: %w", err), client.Close())
	}
	known = map[string]bool{}
	for _, sandbox := range list.Items {
		known[sandbox.Id] = true
	}
	return client, known, nil
}

// killShim ends a shim, and with it what it keeps.
func (p Paths) killShim(ctx context.Context, pid int, sandbox string) error {
	if err := p.endShim(ctx, pid, sandbox); err != nil {
		return err
	}
	return os.RemoveAll(filepath.Join(p.state(), "io.containerd.grpc.v1.cri/sandboxes", sandbox))
}
