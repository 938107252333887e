package bundle

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	task "github.com/containerd/containerd/api/runtime/task/v3"
	"github.com/containerd/ttrpc"
)

// lostExits keeps the exits of containers that end while there is no containerd.
// Their shims know how they ended. But a containerd that starts takes a shim whose
// container has no process left for one that never began its work and ends it
// unasked ("cleaning leaked shim process"); such a container is then shown as
// exited 255, Unknown, which no restart rule knows (B-RST-15, B-RST-16). So the
// shims are asked before containerd starts, and heard until it answers, and what
// they say is written where containerd reads it.
type lostExits struct {
	paths Paths
	log   *slog.Logger
	wait  sync.WaitGroup
	stop  context.CancelFunc
}

// shimPatience bounds one question to one shim; all are asked side by side.
const shimPatience = 500 * time.Millisecond

// keepExits asks all shims what their containers have come to, and goes on to hear
// of those that run until it is closed. containerd must not run yet.
func keepExits(ctx context.Context, paths Paths, log *slog.Logger) *lostExits {
	ctx, stop := context.WithCancel(ctx)
	l := &lostExits{paths: paths, log: log, stop: stop}
	statuses, err := filepath.Glob(filepath.Join(paths.containers(), "*", "status"))
	if err != nil {
		panic(err) // the pattern is right, and has none of the user's characters but the root's
	}
	var asked sync.WaitGroup
	for _, status := range statuses {
		exit, running := readExit(status)
		if !running {
			continue
		}
		asked.Add(1)
		l.wait.Go(func() { l.hear(ctx, exit, asked.Done) })
	}
	asked.Wait()
	return l
}

// close ends the hearing.
func (l *lostExits) close() {
	l.stop()
	l.wait.Wait()
}

// hear writes down how one container has ended: at once, or when it does.
func (l *lostExits) hear(ctx context.Context, exit *savedExit, asked func()) {
	asked = sync.OnceFunc(asked)
	defer asked()
	shim, err := dialShim(ctx, filepath.Join(l.paths.tasks(), exit.id))
	if err != nil {
		return // it has ended as well: nobody knows
	}
	defer func() { _ = shim.Close() }() // it was only asked
	client := task.NewTTRPCTaskClient(shim)
	brief, cancel := context.WithTimeout(ctx, shimPatience)
	defer cancel()
	state, err := client.State(brief, &task.StateRequest{ID: exit.id})
	if err != nil {
		return // it has no such container any more
	}
	code, at := state.ExitStatus, state.ExitedAt
	if at.AsTime().Unix() <= 0 {
		asked()
		ended, err := client.Wait(ctx, &task.WaitRequest{ID: exit.id})
		if err != nil {
			return
		}
		code, at = ended.ExitStatus, ended.ExitedAt
	}
	if err := exit.save(int32(code), at.AsTime()); err != nil {
		l.log.Warn("an exit while containerd was away is lost", "container", exit.id, "code", code, "err", err)
		return
	}
	l.log.Info("a container has ended while containerd was away", "container", exit.id, "code", code)
}

// dialShim connects to the shim of a container.
func dialShim(ctx context.Context, bundle string) (*ttrpc.Client, error) {
	text, err := os.ReadFile(filepath.Join(bundle, "bootstrap.json"))
	if err != nil {
		return nil, fmt.Errorf("find a shim: %w", err)
	}
	var shim struct{ Address, Protocol string }
	if err := json.Unmarshal(text, &shim); err != nil {
		return nil, fmt.Errorf("find a shim: %w", err)
	}
	if shim.Protocol != "ttrpc" {
		return nil, fmt.Errorf("ask a shim: protocol %q: want ttrpc", shim.Protocol)
	}
	dialer := net.Dialer{Timeout: shimPatience}
	conn, err := dialer.DialContext(ctx, "unix", strings.TrimPrefix(shim.Address, "unix://"))
	if err != nil {
		return nil, fmt.Errorf("ask a shim: %w", err)
	}
	return ttrpc.NewClient(conn), nil
}

// savedExit is containerd's record of a container, as far as it says whether it has
// ended. All else in it is kept as it was written.
type savedExit struct {
	id   string
	path string
	text map[string]json.RawMessage
}

// savedVersion is the version of the record that is understood.
const savedVersion = `"v1"`

// readExit reads a container's record; false says that it is of one that does not
// run, or is none.
func readExit(path string) (*savedExit, bool) {
	e := &savedExit{id: filepath.Base(filepath.Dir(path)), path: path}
	text, err := os.ReadFile(path)
	if err != nil || json.Unmarshal(text, &e.text) != nil || string(e.text["Version"]) != savedVersion {
		return nil, false
	}
	var times struct{ StartedAt, FinishedAt int64 }
	if json.Unmarshal(text, &times) != nil {
		return nil, false
	}
	return e, times.StartedAt != 0 && times.FinishedAt == 0
}

// save adds the end to the record.
func (e *savedExit) save(code int32, at time.Time) error {
	var errs []error
	for field, value := range map[string]any{"ExitCode": code, "FinishedAt": at.UnixNano(), "Pid": 0} {
		text, err := json.Marshal(value)
		e.text[field], errs = text, append(errs, err)
	}
	text, err := json.Marshal(e.text)
	if err := errors.Join(append(errs, err)...); err != nil {
		return err
	}
	return replaceFile(e.path, text)
}
