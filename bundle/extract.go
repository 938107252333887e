package bundle

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"github.com/lifepod/lifepod/bundle/manifest"
	"github.com/lifepod/lifepod/internal/wholefile"
)

// extract unpacks into a folder of its own and gives it its name when it is
// whole.
func (p *Paths) extract(a archive) error {
	partial, err := os.MkdirTemp(p.bundles(), partialPrefix)
	if err != nil {
		return fmt.Errorf("unpack the runtime: %w", err)
	}
	defer func() { _ = os.RemoveAll(partial) }()
	if err := os.Chmod(partial, 0o755); err != nil {
		return fmt.Errorf("unpack the runtime: %w", err)
	}
	if err := extractTo(partial, a); err != nil {
		return fmt.Errorf("unpack the runtime to %s: %w", p.bundles(), err)
	}
	if err := writeMark(partial, a.manifest); err != nil {
		return fmt.Errorf("unpack the runtime to %s: %w", p.bundles(), err)
	}
	// What has the final name here is damaged, or claim would have succeeded.
	if err := os.RemoveAll(p.Bundle); err != nil {
		return fmt.Errorf("replace the damaged runtime in %s: %w", p.Bundle, err)
	}
	if err := os.Rename(partial, p.Bundle); err != nil {
		return fmt.Errorf("unpack the runtime: %w", err)
	}
	return nil
}

func extractTo(dir string, a archive) error {
	packed, err := a.compressed()
	if err != nil {
		return err
	}
	defer func() { _ = packed.Close() }()
	z, err := zstd.NewReader(packed)
	if err != nil {
		return err
	}
	defer z.Close()
	want := make(map[string]manifest.File)
	for _, f := range a.manifest.Files {
		want[f.Path] = f
	}
	r, syncs := tar.NewReader(z), &errgroup.Group{}
	defer func() { _ = syncs.Wait() }() // no file is written to any more; an error was returned below
	for {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("read the archive: %w", err)
		}
		f, ok := want[header.Name]
		if !ok {
			return fmt.Errorf("the archive has %q, which its manifest does not list", header.Name)
		}
		out, err := extractFile(dir, f, r)
		if err != nil {
			return err
		}
		syncs.Go(func() error { return finish(out, f.Path) }) // while the next one is unpacked
		delete(want, f.Path)
	}
	for missing := range want {
		return fmt.Errorf("the archive lacks %q", missing)
	}
	return syncs.Wait()
}

// extractFile writes one file and verifies its digest.
func extractFile(dir string, f manifest.File, content io.Reader) (*os.File, error) {
	path := filepath.Join(dir, f.Path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	out, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, os.FileMode(f.Mode))
	if err != nil {
		return nil, err
	}
	h := sha256.New()
	if _, err := io.CopyBuffer(io.MultiWriter(&flowing{file: out}, h), content, make([]byte, copyBuffer)); err != nil {
		_ = out.Close() // the first error says more
		return nil, fmt.Errorf("write %s: %w", f.Path, err)
	}
	if got := fmt.Sprintf("%x", h.Sum(nil)); got != f.SHA256 {
		_ = out.Close() // only a damaged file
		return nil, fmt.Errorf("%s is damaged: its sha256 is %s, the manifest says %s", f.Path, got, f.SHA256)
	}
	return out, nil
}

// finish returns when a file is on the disk.
func finish(out *os.File, path string) error {
	if err := errors.Join(out.Sync(), out.Close()); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// How much of a file is copied at once, and how much of it is written to the disk at once
// while the rest is still unpacked. In bytes.
const (
	copyBuffer = 256 << 10
	flowAt     = 8 << 20
)

// flowing is a file that is written to the disk while the rest of it is unpacked.
type flowing struct {
	file         *os.File
	sent, behind int64 // what the disk was asked to write, and what is written behind it
}

func (f *flowing) Write(p []byte) (int, error) {
	n, err := f.file.Write(p)
	if f.behind += int64(n); f.behind >= flowAt {
		// It only begins; Sync waits for it and has its errors. Not every file system can do it.
		_ = unix.SyncFileRange(int(f.file.Fd()), f.sent, f.behind, unix.SYNC_FILE_RANGE_WRITE)
		f.sent, f.behind = f.sent+f.behind, 0
	}
	return n, err
}

func writeMark(dir string, m manifest.Manifest) error {
	states := make(map[string]fileState)
	for _, f := range m.Files {
		state, err := stateOf(filepath.Join(dir, f.Path))
		if err != nil {
			return err
		}
		states[f.Path] = state
	}
	text, err := json.MarshalIndent(states, "", "  ")
	if err != nil {
		return err
	}
	return wholefile.WriteMode(filepath.Join(dir, completeName), text, 0o644)
}

// explainSpace adds what a full disk lacks.
func (p *Paths) explainSpace(err error, m manifest.Manifest) error {
	if !errors.Is(err, unix.ENOSPC) && !errors.Is(err, unix.EDQUOT) {
		return err
	}
	var need int64
	for _, f := range m.Files {
		need += f.Size
	}
	var stat unix.Statfs_t
	if unix.Statfs(p.bundles(), &stat) != nil {
		return err
	}
	const mib = 1 << 20
	free := int64(stat.Bavail) * stat.Bsize
	return fmt.Errorf("%w: the runtime needs %d MiB below %s, %d MiB are free; make room or choose another --root", err, need/mib+1, p.Root, free/mib)
}

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
