package bundle

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/internal/pidfd"
)

// TestKillStrayShims: of the shims of a root only those without a sandbox's
// folder are ended.
func TestKillStrayShims(t *testing.T) {
	dir := t.TempDir()
	r := &Runtime{paths: Paths{Root: dir, RunDir: filepath.Join(dir, "run"), Bundle: filepath.Join(dir, "bundle")}}
	program := filepath.Join(dir, filepath.Base(r.paths.Shim()))
	assert.Must(t, os.MkdirAll(filepath.Join(r.paths.state(), "io.containerd.runtime.v2.task/k8s.io", "known"), 0o700))
	start := func(id, address string) *exec.Cmd {
		return startShim(t, program, "-namespace", "k8s.io", "-id", id, "-address", address)
	}
	stray, known, foreign := start("lost", r.paths.Socket()), start("known", r.paths.Socket()), start("lost", "/elsewhere")
	t.Cleanup(func() {
		for _, c := range []*exec.Cmd{known, foreign} {
			_ = c.Process.Kill()
			_ = c.Wait()
		}
	})
	assert.Must(t, r.KillStrayShims(t.Context()))
	assert.Fails(t, stray.Wait(), "the stray shim ended by itself")
	for name, c := range map[string]*exec.Cmd{"of a sandbox": known, "of another root": foreign} {
		_, err := pidfd.Find(c.Process.Pid)
		assert.True(t, err == nil, "the shim %s: %v", name, err)
	}
}

// TestAwaitCleanups: what cleans up after a shim of ours is waited for, and killed if it
// never ends; nothing else is touched.
func TestAwaitCleanups(t *testing.T) {
	dir := t.TempDir()
	p := Paths{Root: dir, RunDir: filepath.Join(dir, "run"), Bundle: filepath.Join(dir, "bundle")}
	program := filepath.Join(dir, filepath.Base(p.Shim()))
	shim := startShim(t, program, "-namespace", "k8s.io", "-id", "a", "-address", p.Socket())
	foreign := startShim(t, program, "-bundle", "/b", "-address", "/elsewhere")
	cleanup := startShim(t, program, "-namespace", "k8s.io", "-address", p.Socket(), "-bundle", "/a", "delete")
	t.Cleanup(func() {
		for _, c := range []*exec.Cmd{shim, foreign} {
			_ = c.Process.Kill()
			_ = c.Wait()
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	assert.Must(t, p.awaitCleanups(ctx))
	assert.Fails(t, cleanup.Wait(), "the cleanup that never ends was not ended")
	for name, c := range map[string]*exec.Cmd{"a shim": shim, "a cleanup of another root": foreign} {
		_, err := pidfd.Find(c.Process.Pid)
		assert.True(t, err == nil, "%s: %v", name, err)
	}
}

// startShim starts a shell that waits for input, with the arguments of a shim.
func startShim(t *testing.T, program string, arguments ...string) *exec.Cmd {
	t.Helper()
	c := &exec.Cmd{Path: "/bin/sh", Args: append([]string{program, "-c", "read line", "x"}, arguments...)}
	input := assert.Get(c.StdinPipe()).Must(t)
	t.Cleanup(func() { _ = input.Close() })
	assert.Must(t, c.Start())
	return c
}
