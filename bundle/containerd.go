package bundle

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/internal/pidfd"
)

// daemon is the containerd of one root: how to find, start and stop it.
type daemon struct {
	paths  Paths
	subnet string
	cni    *CNI
	crun   string // the program that is wanted instead of runc; empty for runc
	log    *slog.Logger
	// version is a digest of the program and all that is generated for it.
	version string
	// older are the network namespaces that were there when containerd was started;
	// none if it ran already.
	older []string
}

// adoptPatience is how long one that runs already may take until it answers:
// when it does not by then, it is better replaced.
const adoptPatience = 10 * time.Second

// stopPatience is how long it may take to stop, and hungPatience how long one
// may that does not answer: a stopped one never would.
const (
	stopPatience = 10 * time.Second
	hungPatience = time.Second
)

// configure generates containerd's files and returns the pod network.
func (d *daemon) configure() (network, error) {
	h, err := inspectHost(d.paths)
	if err != nil {
		return network{}, err
	}
	n, err := d.chooseNetwork()
	if err != nil {
		return network{}, err
	}
	h.cni = n.CNI
	if h.crun, err = d.chooseCrun(); err != nil {
		return network{}, err
	}
	config, err := containerdConfig(d.paths, h)
	if err != nil {
		return network{}, err
	}
	if err := replaceFile(d.paths.config(), config); err != nil {
		return network{}, err
	}
	d.version = fmt.Sprintf("%x", sha256.Sum256(config))[:16]
	return n, n.settle(d.paths)
}

// masquerade sets the rule up. Should another packet filter have it than the
// configuration says, containerd notices the change of that file.
func (d *daemon) masquerade(ctx context.Context, n network) error {
	filter, err := n.masquerade(ctx, d.paths.FilterTable())
	if ctx.Err() != nil {
		// Cut short, it says nothing about the packet filter.
		return context.Cause(ctx)
	}
	switch {
	case err != nil && n.CNI != nil:
		d.log.Warn("nothing keeps what comes from elsewhere from 127.0.0.1 of this machine", "err", err)
	case err != nil:
		d.log.Warn("pods reach nothing beyond this machine", "err", err)
	}
	if filter == n.Filter {
		return nil
	}
	n.Filter = filter
	return n.settle(d.paths)
}

// ensure returns a containerd that answers, with its network.
func (d *daemon) ensure(ctx context.Context) (*pidfd.Process, error) {
	n, err := d.configure()
	if err != nil {
		return nil, err
	}
	filtered := make(chan error, 1)
	go func() { filtered <- d.masquerade(ctx, n) }()
	running, err := d.adopt(ctx)
	if err == nil && running == nil {
		running, err = d.start(ctx)
	}
	return running, errors.Join(err, <-filtered)
}

// adopt finds a containerd that runs already: one that another process
// started and left behind. It returns nil if there is none. A containerd of
// another version is stopped, and so is one that does not answer: a new one is
// better than an error at every start, and containers go on without it.
func (d *daemon) adopt(ctx context.Context) (*pidfd.Process, error) {
	found, version, err := d.find()
	if err != nil || found == nil {
		return nil, err
	}
	patience := stopPatience
	if version == d.version {
		err := d.awaitAnswer(ctx, found)
		if err == nil {
			return found, nil
		}
		if ctx.Err() != nil {
			found.Close()
			return nil, context.Cause(ctx)
		}
		d.log.Warn("the running containerd does not answer and is replaced", "pid", found.PID, "err", err)
		patience = hungPatience
	}
	defer found.Close()
	return nil, found.Stop(ctx, patience)
}

// find looks the containerd of this root up: as recorded, or, when its
// starter was killed between the start and the record, among all processes: the
// version of that one isn't known.
func (d *daemon) find() (found *pidfd.Process, version string, err error) {
	text, err := os.ReadFile(d.paths.record())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", fmt.Errorf("look for a running containerd: %w", err)
	}
	var r record
	// A torn record is treated like that of a process that is gone.
	if json.Unmarshal(text, &r) == nil && r.PID > 0 {
		if p, err := pidfd.Open(r.ID); !errors.Is(err, pidfd.ErrEnded) {
			return p, r.Version, err
		}
	}
	all, _ := procfs.AllProcs() // none, if there is no /proc
	for _, proc := range all {
		if !d.isOurs(proc) {
			continue
		}
		stat, err := pidfd.Stat(proc)
		if err != nil {
			continue
		}
		if p, err := pidfd.Open(pidfd.Of(stat)); !errors.Is(err, pidfd.ErrEnded) {
			return p, "", err
		}
	}
	return nil, "", nil
}

// isOurs recognises a containerd by its program and configuration file.
func (d *daemon) isOurs(proc procfs.Proc) bool {
	exe := pidfd.Program(proc)
	if !strings.HasPrefix(exe, d.paths.bundles()+"/") || filepath.Base(exe) != "containerd" {
		return false
	}
	return slices.Contains(pidfd.Arguments(proc.PID), d.paths.config())
}

// awaitAnswer waits until CRI is served by a containerd whose start another
// process may have begun a moment ago.
func (d *daemon) awaitAnswer(ctx context.Context, p *pidfd.Process) error {
	ctx, cancel := context.WithTimeout(ctx, adoptPatience)
	defer cancel()
	conn, err := grpc.NewClient("unix://"+d.paths.Socket(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	client := cri.NewRuntimeServiceClient(conn)
	for wait := newBackoff(time.Millisecond, 50*time.Millisecond); ; {
		_, err := client.Version(ctx, &cri.VersionRequest{})
		if err == nil {
			return nil
		}
		select {
		case <-p.Ended():
			return pidfd.ErrEnded
		default:
		}
		if wait.sleep(ctx) != nil {
			return err
		}
		conn.ResetConnectBackoff()
	}
}

const (
	overlayfs = "overlayfs"
	native    = "native"
)

// platform is the one whose images are unpacked.
func platform() string { return "linux/" + runtime.GOARCH }

// chooseSnapshotter takes the one that the root was started with, because
// images that were unpacked with one are of no use to the other.
func chooseSnapshotter(p Paths) (string, error) {
	for _, name := range []string{overlayfs, native} {
		if _, err := os.Stat(filepath.Join(p.content(), "io.containerd.snapshotter.v1."+name)); err == nil {
			return name, nil
		}
	}
	if err := tryOverlay(p.Root); err == nil {
		return overlayfs, nil
	} else if !isUnsupported(err) {
		return "", fmt.Errorf("try overlayfs below %s: %w", p.Root, err)
	}
	return native, nil
}

// tryOverlay mounts an overlay whose layers lie below dir.
func tryOverlay(dir string) error {
	base, err := os.MkdirTemp(dir, ".overlay-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(base) }()
	var options []string
	for _, name := range []string{"lowerdir", "upperdir", "workdir"} {
		sub := filepath.Join(base, name)
		if err := os.Mkdir(sub, 0o700); err != nil {
			return err
		}
		options = append(options, name+"="+sub)
	}
	target := filepath.Join(base, "merged")
	if err := os.Mkdir(target, 0o700); err != nil {
		return err
	}
	if err := unix.Mount("overlay", target, "overlay", 0, strings.Join(options, ",")); err != nil {
		return &os.PathError{Op: "mount overlay", Path: target, Err: err}
	}
	return unix.Unmount(target, unix.MNT_DETACH)
}

// isUnsupported tells a file system or kernel without overlays from a
// failure of another kind.
func isUnsupported(err error) bool {
	return slices.ContainsFunc([]error{unix.EINVAL, unix.ENODEV, unix.EPERM, unix.EOPNOTSUPP}, func(target error) bool {
		return errors.Is(err, target)
	})
}
