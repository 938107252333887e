package bundle

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// tryPatience is how long crun may take to make a container, and to delete it.
const tryPatience = 20 * time.Second

// Try has crun make a container, as a pod has them: with namespaces, limits and a seccomp
// filter. Its process is never started. Some machines crun refuses, such as those whose
// cgroups are partly of v1 and partly of v2. With systemd crun has systemd make the cgroup. Try
// removes all that crun makes. It keeps its files in a folder below dir; if dir is empty, in the
// default folder for temporary files.
func (c InstalledCrun) Try(ctx context.Context, dir string, systemd bool) error {
	if err := c.try(ctx, dir, systemd); err != nil {
		return fmt.Errorf("crun %s (%s) can't make a container on this machine: %w", c.Version, c.Path, err)
	}
	return nil
}

func (c InstalledCrun) try(ctx context.Context, dir string, systemd bool) (err error) {
	ctx, cancel := context.WithTimeout(ctx, tryPatience)
	defer cancel()
	if dir, err = os.MkdirTemp(dir, "crun-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	t := trial{program: c.Path, dir: dir, id: fmt.Sprintf("lifepod-crun-%d", os.Getpid()), systemd: systemd}
	if err := t.writeBundle(); err != nil {
		return err
	}
	defer func() {
		failed := t.run(context.WithoutCancel(ctx), "delete", "--force", t.id)
		if err == nil { // else there may be nothing to delete
			err = failed
		}
	}()
	return t.run(ctx, "create", "--bundle", t.dir, t.id)
}

// trial is a container that is made to see whether it can be.
type trial struct {
	program string
	dir     string // has the bundle, and below it crun's state
	id      string
	systemd bool
}

type object = map[string]any

// writeBundle makes a root file system with one program, which is not started, and says how
// the container is to be.
func (t trial) writeBundle() error {
	rootfs := filepath.Join(t.dir, "rootfs")
	if err := os.Mkdir(rootfs, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(rootfs, "program"), nil, 0o755); err != nil { //nolint:gosec // crun wants to be able to execute it
		return err
	}
	cgroup := "/" + t.id
	if t.systemd {
		cgroup = "system.slice:lifepod:" + t.id
	}
	text, err := json.Marshal(object{
		"ociVersion": "1.0.2",
		"process":    object{"args": []string{"/program"}, "cwd": "/", "noNewPrivileges": true, "user": object{"uid": 0, "gid": 0}},
		"root":       object{"path": "rootfs"},
		"mounts":     []object{{"destination": "/proc", "type": "proc", "source": "proc"}},
		"linux": object{
			"cgroupsPath": cgroup,
			"namespaces":  []object{{"type": "pid"}, {"type": "ipc"}, {"type": "uts"}, {"type": "mount"}, {"type": "network"}},
			"resources":   object{"cpu": object{"shares": 2}, "memory": object{"limit": 64 << 20}, "pids": object{"limit": 16}},
			"seccomp":     object{"defaultAction": "SCMP_ACT_ALLOW", "syscalls": []object{{"names": []string{"reboot"}, "action": "SCMP_ACT_ERRNO"}}},
		},
	})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(t.dir, "config.json"), text, 0o600)
}

// run executes crun; its error is what crun says. The container's process keeps the streams
// that crun has, so that they are a file.
func (t trial) run(ctx context.Context, arguments ...string) error {
	said, err := os.CreateTemp(t.dir, "said-")
	if err != nil {
		return err
	}
	defer said.Close()
	global := []string{"--root", filepath.Join(t.dir, "state")}
	if t.systemd {
		global = append(global, "--systemd-cgroup")
	}
	cmd := exec.CommandContext(ctx, t.program, append(global, arguments...)...)
	cmd.Stdout, cmd.Stderr = said, said
	failed := cmd.Run()
	if failed == nil {
		return nil
	}
	text, err := os.ReadFile(said.Name())
	if text = bytes.TrimSpace(text); len(text) == 0 || err != nil {
		return failed
	}
	return errors.New(string(bytes.ReplaceAll(text, []byte("\n"), []byte("; "))))
}
