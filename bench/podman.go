package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/lifepod/lifepod/bench/times"
	"github.com/lifepod/lifepod/internal/pidfd"
)

// podman is the distribution's podman. It has a folder for all that it keeps, the runc that lifepod carries, and the same images.
type podman struct {
	args    []string // of each of its commands
	env     []string
	file    string    // with one pod that runs true
	network *exec.Cmd // has the network that podman takes for the machine's: its rules of iptables stay in it
}

// podmanConfig lets podman work without systemd, and where not even root may raise limits.
const podmanConfig = `[containers]
default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]
[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
lock_type = "file"
[network]
network_backend = "netavark"
`

func newPodman(ctx context.Context, dir, stock, images string) (*podman, error) {
	runc, err := filepath.Abs(filepath.Join(stock, "bin", "runc"))
	if err != nil {
		return nil, err
	}
	file, err := manifest(dir, 1, "true")
	if err != nil {
		return nil, err
	}
	config := filepath.Join(dir, "podman.conf")
	if err := os.WriteFile(config, []byte(podmanConfig), 0o600); err != nil {
		return nil, err
	}
	p := &podman{file: file, env: append(os.Environ(), "CONTAINERS_CONF="+config), args: []string{
		"--root", filepath.Join(dir, "podman", "root"), "--runroot", filepath.Join(dir, "podman", "run"), "--tmpdir", filepath.Join(dir, "podman", "tmp"),
		"--network-config-dir", filepath.Join(dir, "podman", "networks"), "--storage-driver", "overlay", "--runtime", runc,
	}, network: exec.CommandContext(ctx, "sleep", "1h")}
	p.network.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	if err := p.network.Start(); err != nil {
		return nil, fmt.Errorf("a network for podman: %w", err)
	}
	return p, p.do(ctx, "load", "--input", images)
}

func (p *podman) close(ctx context.Context) error {
	err := errors.Join(p.do(ctx, "system", "reset", "--force"), p.network.Process.Kill())
	_ = p.network.Wait() // killed
	return err
}

// run runs a pod to its end, and removes it. The podman of Debian 12 has no kube play --wait.
func (p *podman) run(ctx context.Context, record times.Record) error {
	began := time.Now()
	for _, args := range [][]string{{"kube", "play", p.file}, {"wait", "bench-0-main"}, {"kube", "down", p.file}} {
		if err := p.do(ctx, args...); err != nil {
			return err
		}
	}
	record("stock run", time.Since(began))
	return nil
}

func (p *podman) do(ctx context.Context, args ...string) error {
	command := exec.CommandContext(ctx, "podman", append(p.args, args...)...) //nolint:gosec // the arguments are ours
	command.Env = p.env
	process, err := pidfd.Find(p.network.Process.Pid)
	if err != nil {
		return err
	}
	return process.InNetwork(func() error {
		if said, err := command.CombinedOutput(); err != nil {
			return fmt.Errorf("podman %q: %w: %s", args, err, said)
		}
		return nil
	})
}
