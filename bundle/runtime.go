package bundle

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lifepod/lifepod/internal/rootfolder"
)

// Config says which runtime to open. The zero value is the default root.
type Config struct {
	// Root is the state folder; empty means DefaultRoot.
	Root string
	// RunDir has the sockets; empty means DefaultRunDir, with a suffix that
	// is derived from Root for another root than the default.
	RunDir string
	// Subnet is the pods' IPv4 prefix. Empty means the one the root had
	// before, or a free one. The first process to open a root decides.
	Subnet string
	// CNI is a pod network instead of the bundled one; with an empty ConfDir the
	// bundled one. Nil is whatever the root had before.
	CNI *CNI
	// CgroupDriver is who is to make cgroups; an error if there are pods that have another.
	CgroupDriver CgroupDriver
	// OCIRuntime makes the containers of pods that name no RuntimeClass; see [Runtime.Handler].
	OCIRuntime OCIRuntime
	// Log receives restarts and other things worth knowing; nil discards.
	Log *slog.Logger
}

// Runtime is an open root: containerd answers at Endpoint until Close.
type Runtime struct {
	paths      Paths
	log        *slog.Logger
	supervisor *supervisor
	users      *os.File
	bundle     *os.File
	driver     CgroupDriver
	cancel     context.CancelFunc
	finished   chan struct{}
}

// Open unpacks the carried runtime if necessary, makes sure that its
// containerd runs, and returns when CRI answers. The error says what is wrong
// with root or machine, or shows the end of containerd's log. Call Close even
// if the process is about to end: the last one to close stops containerd, unless
// pods are left running.
func Open(ctx context.Context, c Config) (*Runtime, error) {
	a, err := carried()
	if err != nil {
		return nil, err
	}
	return open(ctx, c, a)
}

func open(ctx context.Context, c Config, a archive) (*Runtime, error) {
	if os.Geteuid() != 0 {
		return nil, errors.New("only root may run containers: run it with sudo")
	}
	p, err := Locate(c.Root, c.RunDir)
	if err != nil {
		return nil, err
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if err := rootfolder.Make(p.Root); err != nil {
		return nil, err
	}
	r := &Runtime{paths: p, log: c.Log, finished: make(chan struct{})}
	// While the last one closes it holds this lock alone.
	if r.users, err = lock(ctx, p.usersLock(), unix.LOCK_SH); err != nil {
		return nil, fmt.Errorf("open the runtime: %w", err)
	}
	if r.bundle, err = r.paths.unpack(ctx, a); err != nil {
		r.users.Close()
		return nil, err
	}
	if err := rootfolder.EnsureRun(p.RunDir); err != nil {
		return nil, errors.Join(fmt.Errorf("open the runtime: %w", err), r.users.Close(), r.bundle.Close())
	}
	err = r.settleDriver(c.CgroupDriver)
	var program string
	if err == nil {
		program, err = r.paths.settleCrun(ctx, c.OCIRuntime)
	}
	if err != nil {
		return nil, errors.Join(err, r.users.Close(), r.bundle.Close())
	}
	r.supervisor = &supervisor{
		daemon:   &daemon{paths: r.paths, subnet: c.Subnet, cni: c.CNI, crun: program, log: c.Log},
		log:      c.Log,
		up:       make(chan error, 1),
		restarts: make(chan time.Time, 1),
		patience: defaultPatience,
	}
	return r, r.supervise(ctx)
}

// supervise starts the supervision and waits until containerd answers.
func (r *Runtime) supervise(ctx context.Context) error {
	// The supervision lasts longer than the call of Open.
	lifetime, cancel := context.WithCancel(context.WithoutCancel(ctx))
	r.cancel = cancel
	go func() {
		defer close(r.finished)
		r.supervisor.run(lifetime)
	}()
	var err error
	select {
	case err = <-r.supervisor.up:
	case <-ctx.Done():
		err = fmt.Errorf("open the runtime: %w", context.Cause(ctx))
	}
	if err == nil {
		err = r.expectCrun(ctx)
	}
	if err != nil {
		return errors.Join(err, r.Close(context.WithoutCancel(ctx)))
	}
	return nil
}

// Endpoint is the CRI endpoint, as --runtime-endpoint takes it.
func (r *Runtime) Endpoint() string { return "unix://" + r.paths.Socket() }

// Paths says where everything of the open root lies.
func (r *Runtime) Paths() Paths { return r.paths }

// UsesSystemd says whether systemd makes the cgroups of the root's pods.
func (r *Runtime) UsesSystemd() bool { return r.driver == Systemd }

// CgroupParent is the cgroup below which the pods of this root belong, in
// cgroupfs notation.
func (r *Runtime) CgroupParent() string { return r.paths.CgroupParent() }

// CgroupParent is the cgroup of all pods of this root: /lifepod, or
// /lifepod-HASH for another root than the default.
func (p Paths) CgroupParent() string { return "/lifepod" + p.suffix() }

// Restarts receives a value whenever containerd has died and answers again.
// Streams and watches of before are broken then, containers are not. Values
// that nobody reads are dropped in favour of newer ones.
func (r *Runtime) Restarts() <-chan time.Time { return r.supervisor.restarts }

// Close ends the use of the root. If no pod is left, the last one to close stops
// containerd and removes the sockets, the run folder, the bridge, the packet
// filter rules and the cgroup. Pods that still run go on, and containerd with them.
func (r *Runtime) Close(ctx context.Context) error {
	if r.users == nil {
		return nil
	}
	r.cancel()
	<-r.finished
	defer func() {
		r.users.Close()
		r.bundle.Close()
		r.users = nil
	}()
	err := relock(r.users, unix.LOCK_EX)
	if errors.Is(err, errLocked) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("close the runtime: %w", err)
	}
	sign(r.users)
	if err := r.supervisor.daemon.shutDown(ctx); err != nil {
		return fmt.Errorf("close the runtime: %w", err)
	}
	return nil
}
