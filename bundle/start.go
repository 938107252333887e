package bundle

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/lifepod/lifepod/internal/footprint"
	"github.com/lifepod/lifepod/internal/logfile"
	"github.com/lifepod/lifepod/internal/pidfd"
)

// startPatience is how long containerd may take until it answers. It needs
// 30 ms, and longer by far with thousands of containers to recover.
const startPatience = 60 * time.Second

// startTries is how often containerd is started before its end is an error: it
// may have been killed, or have wanted what others give back in a moment, such as
// an inotify instance.
const startTries = 5

// errEnded means that containerd ended before it answered.
var errEnded = errors.New("it ended at once")

// start runs containerd and waits until it answers. One that ends before it does
// is started again, a few times.
func (d *daemon) start(ctx context.Context) (*pidfd.Process, error) {
	d.older = d.paths.networkNamespaces()
	exits := keepExits(ctx, d.paths, d.log)
	defer exits.close()
	ctx, cancel := context.WithTimeoutCause(ctx, startPatience, fmt.Errorf("it did not answer within %v", startPatience))
	defer cancel()
	pause := newBackoff(100*time.Millisecond, time.Second)
	for try := 1; ; try++ {
		started, err := d.startOnce(ctx)
		if !errors.Is(err, errEnded) || try == startTries {
			return started, err
		}
		d.log.Debug("containerd is started again", "err", err)
		if pause.sleep(ctx) != nil {
			return nil, err
		}
	}
}

func (d *daemon) startOnce(ctx context.Context) (*pidfd.Process, error) {
	ready, err := listenReady(d.paths.notification())
	if err != nil {
		return nil, err
	}
	defer ready.close()
	log, err := logfile.Open(d.paths.Log())
	if err != nil {
		return nil, fmt.Errorf("open containerd's log: %w", err)
	}
	defer log.Close()
	offset, err := log.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, fmt.Errorf("open containerd's log: %w", err)
	}
	started, exited, err := d.spawn(log)
	if err != nil {
		return nil, err
	}
	select {
	case <-ready.heard:
		return started, nil
	case <-started.Ended():
		started.Close()
		return nil, fmt.Errorf("start containerd: %w (%v); the end of %s:\n%s", errEnded, <-exited, d.paths.Log(), logfile.Tail(d.paths.Log(), offset))
	case <-ctx.Done():
		err := context.Cause(ctx)
		stopped := started.Stop(context.WithoutCancel(ctx), stopPatience)
		started.Close()
		return nil, errors.Join(fmt.Errorf("start containerd: %w; the end of %s:\n%s", err, d.paths.Log(), logfile.Tail(d.paths.Log(), offset)), stopped)
	}
}

// record is what containerd.json holds.
type record struct {
	pidfd.ID
	// Version is a digest of program and configuration: a containerd of
	// another version is replaced instead of adopted.
	Version string `json:"version"`
}

// spawn starts the process and records it. How it has ended is in exited.
func (d *daemon) spawn(log *os.File) (p *pidfd.Process, exited <-chan *os.ProcessState, err error) {
	// An empty record, written first, says: look among all processes.
	if err := os.WriteFile(d.paths.record(), nil, 0o600); err != nil {
		return nil, nil, fmt.Errorf("start containerd: %w", err)
	}
	cmd := exec.Command(d.paths.Containerd(), "--config", d.paths.config())
	cmd.Dir = "/"
	cmd.Env = containerdEnvironment(d.paths)
	cmd.Stdout, cmd.Stderr = log, log
	// A session of its own keeps the terminal's signals away.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := footprint.OnTime(cmd.Start); err != nil { // containers would inherit late timers
		return nil, nil, fmt.Errorf("start containerd: %w", err)
	}
	id, err := pidfd.Find(cmd.Process.Pid)
	if err != nil && !errors.Is(err, pidfd.ErrEnded) {
		return nil, nil, fmt.Errorf("start containerd: %w", err)
	}
	if p, err = pidfd.OpenPID(cmd.Process.Pid); err == nil {
		p.ID = id
	}
	// Whoever stops it, the zombie is ours to reap.
	state := make(chan *os.ProcessState, 1)
	go func() {
		_ = cmd.Wait() // its state says all
		state <- cmd.ProcessState
	}()
	if err != nil {
		return nil, nil, fmt.Errorf("start containerd: %w", err)
	}
	text, err := json.Marshal(record{ID: id, Version: d.version})
	if err != nil {
		return nil, nil, err
	}
	if err := os.WriteFile(d.paths.record(), text, 0o600); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("start containerd: %w", err), p.Stop(context.Background(), stopPatience))
	}
	return p, state, nil
}

// readiness is the address to which containerd reports, in systemd's
// notification protocol, that CRI is served: an event, where polling the
// socket would only say that somebody listens.
type readiness struct {
	conn  *net.UnixConn
	heard chan struct{}
}

func listenReady(path string) (*readiness, error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("listen for containerd's readiness: %w", err)
	}
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		return nil, fmt.Errorf("listen for containerd's readiness: %w", err)
	}
	r := &readiness{conn: conn, heard: make(chan struct{})}
	go r.listen()
	return r, nil
}

// listen ends with the first notification that says ready, or with close.
func (r *readiness) listen() {
	message := make([]byte, 4096)
	for {
		n, err := r.conn.Read(message)
		if err != nil {
			return
		}
		for line := range strings.Lines(string(message[:n])) {
			if strings.TrimSpace(line) == "READY=1" {
				close(r.heard)
				return
			}
		}
	}
}

func (r *readiness) close() {
	_ = r.conn.Close()
	_ = os.Remove(r.conn.LocalAddr().String())
}
