package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/lifepod/lifepod/bench/times"
)

// podman is that of the distribution, with all that it keeps in a folder, the runc that lifepod carries, and the same images.
type podman struct {
	args []string // of each of its commands
	env  []string
	file string // with one pod that runs true
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
	}}
	return p, p.do(ctx, "load", "--input", images)
}

func (p *podman) close(ctx context.Context) error { return p.do(ctx, "system", "reset", "--force") }

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
	if said, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("podman %q: %w: %s", args, err, said)
	}
	return nil
}
