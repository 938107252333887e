package container

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/containerd/go-runc"
	specs "github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"

	"github.com/lifepod/lifepod/bundle/runtime/container/children"
	"github.com/lifepod/lifepod/bundle/runtime/internal/assert"
)

// programs notes what is executed.
type programs struct{ executed []*exec.Cmd }

func (p *programs) Start(cmd *exec.Cmd) (chan runc.Exit, error) {
	p.executed = append(p.executed, cmd)
	cmd.Process = &os.Process{}
	return nil, nil
}

func (p *programs) StartLocked(cmd *exec.Cmd) (chan runc.Exit, error) { return p.Start(cmd) }

func (p *programs) Wait(*exec.Cmd, chan runc.Exit) (int, error) { return 0, nil }

// newRunc is as containerd's shim calls it.
func newRunc(t *testing.T) *runc.Runc {
	folder := t.TempDir()
	return &runc.Runc{Command: "/bundle/bin/runc", Root: filepath.Join(folder, "runc"), Log: filepath.Join(folder, "log.json"), LogFormat: runc.JSON}
}

// monitor has go-runc ask a monitor; what it does not carry out is noted.
func monitor(t *testing.T, r *runc.Runc) *programs {
	executed, before := &programs{}, runc.Monitor
	runc.Monitor = &Monitor{Programs: executed, Runc: r.Command, Children: &children.Reaper{}}
	t.Cleanup(func() { runc.Monitor = before })
	return executed
}

type socket string

func (s socket) Path() string { return string(s) }

// Whatever containerd's task service asks of runc is understood as go-runc asks it.
func TestCommandsAreUnderstood(t *testing.T) {
	executed, before := &programs{}, runc.Monitor
	runc.Monitor = executed
	t.Cleanup(func() { runc.Monitor = before })
	r := &runc.Runc{Command: "/bin/runc", Root: "/run/runc/k8s.io", Log: "/b/log.json", LogFormat: runc.JSON, SystemdCgroup: true}
	base := command{root: r.Root, log: r.Log, systemd: true, id: "a", rest: []string{}}
	with := func(verb string, f flags, rest ...string) command {
		c := base
		c.verb, c.flags, c.rest = verb, f, append(c.rest, rest...)
		return c
	}
	ctx := t.Context()
	calls := []struct {
		call func() error
		want command
	}{
		{func() error {
			return r.Create(ctx, "a", "/b", &runc.CreateOpts{PidFile: "/b/init.pid", ConsoleSocket: socket("/s"), NoPivot: true, NoNewKeyring: true})
		}, with("create", flags{bundle: "/b", pidFile: "/b/init.pid", console: "/s", noPivot: true, noKeyring: true})},
		{func() error { return r.Start(ctx, "a") }, with("start", flags{})},
		{func() error { return r.Kill(ctx, "a", 15, &runc.KillOpts{}) }, with("kill", flags{}, "15")},
		{func() error { return r.Kill(ctx, "a", 9, &runc.KillOpts{All: true}) }, with("kill", flags{all: true}, "9")},
		{func() error { return r.Delete(ctx, "a", nil) }, with("delete", flags{})},
		{func() error { return r.Delete(ctx, "a", &runc.DeleteOpts{Force: true}) }, with("delete", flags{force: true})},
		{func() error { return r.Pause(ctx, "a") }, with("pause", flags{})},
		{func() error { return r.Resume(ctx, "a") }, with("resume", flags{})},
		{func() error { _, err := r.Ps(ctx, "a"); return err }, with("ps", flags{format: "json"})},
	}
	for i, c := range calls {
		_ = c.call() // there is no answer to read
		assert.Require(t, len(executed.executed) == i+1, "%s: %d commands, want %d", c.want.verb, len(executed.executed), i+1)
		args := executed.executed[i].Args
		got, known := parse(args)
		if gotText, wantText := text(got), text(c.want); !known || gotText != wantText {
			t.Errorf("%q:\ngot  %t %s\nwant %s", args, known, gotText, wantText)
		}
	}
	assert.Must(t, r.Exec(ctx, "a", specs.Process{}, &runc.ExecOpts{PidFile: "/b/e.pid", Detach: true}))
	args := executed.executed[len(calls)].Args
	if got, known := parse(args); !known || got.flags.process == "" || got.flags.pidFile != "/b/e.pid" || !got.flags.detach || got.id != "a" {
		t.Errorf("%q: %t %+v", args, known, got)
	}
}

func text(c command) string {
	return fmt.Sprintf("%+v", c)
}

// What is not understood, or is another runtime's, is executed.
func TestOthersAreExecuted(t *testing.T) {
	r := newRunc(t)
	executed := monitor(t, r)
	ctx := t.Context()
	other := *r
	other.Command = "/usr/bin/crun"
	unlogged := *r
	unlogged.LogFormat = runc.Text
	assert.Must(t, os.MkdirAll(filepath.Join(r.Root, "made"), 0o700))
	assert.Must(t, os.WriteFile(filepath.Join(r.Root, "made", "state.json"), []byte("{}"), 0o600))
	for name, call := range map[string]func() error{
		"update":         func() error { return r.Update(ctx, "a", &specs.LinuxResources{}) },
		"checkpoint":     func() error { return r.Checkpoint(ctx, "a", nil) },
		"another":        func() error { return other.Start(ctx, "a") },
		"another log":    func() error { return unlogged.Start(ctx, "a") },
		"damaged":        func() error { return r.Delete(ctx, "made", &runc.DeleteOpts{Force: true}) },
		"no such bundle": func() error { return r.Create(ctx, "a", "/nowhere", &runc.CreateOpts{PidFile: "/b/init.pid"}) },
		"attached exec":  func() error { return r.Exec(ctx, "a", specs.Process{}, &runc.ExecOpts{PidFile: "/b/e.pid"}) },
	} {
		before := len(executed.executed)
		if err := call(); err != nil || len(executed.executed) != before+1 {
			t.Errorf("%s: %v, executed %d times", name, err, len(executed.executed)-before)
		}
	}
}

// Errors are reported where runc tells them, in its words: containerd's task service goes by these.
func TestErrorsAreRuncs(t *testing.T) {
	r := newRunc(t)
	executed := monitor(t, r)
	ctx := t.Context()
	assert.Must(t, os.MkdirAll(filepath.Join(r.Root, "half", "made"), 0o700))
	for verb, call := range map[string]func() error{
		"start": func() error { return r.Start(ctx, "none") },
		"kill":  func() error { return r.Kill(ctx, "none", 9, &runc.KillOpts{All: true}) },
		"pause": func() error { return r.Pause(ctx, "none") },
		"ps":    func() error { _, err := r.Ps(ctx, "none"); return err },
		// Of a container whose creation came to nothing, nothing is left.
		"delete": func() error { return r.Delete(ctx, "half", nil) },
	} {
		err := call()
		assert.True(t, err != nil && strings.Contains(err.Error(), "exit status 1") && strings.Contains(err.Error(), "container does not exist"), "%s: %v", verb, err)
		log, err := os.ReadFile(r.Log)
		var entry struct{ Level, Msg string }
		assert.True(t, err == nil && json.Unmarshal(log, &entry) == nil && entry.Level == "error" && entry.Msg == "container does not exist", "%s: logged %s %v", verb, log, err)
		assert.NoError(t, os.Remove(r.Log))
	}
	assert.NoError(t, r.Delete(ctx, "none", &runc.DeleteOpts{Force: true}), "clean up after a container that is not there")
	assert.True(t, len(executed.executed) == 0, "executed: %v", executed.executed)
	if _, err := os.Stat(filepath.Join(r.Root, "half")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what was half made is still there: %v", err)
	}
}

// TestInputOfTheProcessAlone: once a process has begun nobody but it has the end of a pipe that it reads. Who writes to it learns that
// it has ended, also when the pipe is full.
func TestInputOfTheProcessAlone(t *testing.T) {
	r := newRunc(t)
	monitor(t, r)
	for verb, begin := range map[string]func(runc.IO) error{
		"create": func(io runc.IO) error {
			return r.Create(t.Context(), "a", "/nowhere", &runc.CreateOpts{PidFile: "/b/init.pid", IO: io})
		},
		"exec": func(io runc.IO) error {
			return r.Exec(t.Context(), "a", specs.Process{}, &runc.ExecOpts{PidFile: "/b/e.pid", Detach: true, IO: io})
		},
	} {
		pipes := assert.Get(runc.NewPipeIO(0, 0)).Must(t)
		assert.NoError(t, begin(pipes), verb)
		assert.Must(t, pipes.Stdin().(*os.File).SetWriteDeadline(time.Now().Add(10*time.Second)))
		if n, err := pipes.Stdin().Write(make([]byte, 1<<20)); !errors.Is(err, unix.EPIPE) {
			t.Errorf("%s: wrote %d bytes that nobody reads: %v", verb, n, err)
		}
		_ = pipes.Close() // one end is closed
	}
}
