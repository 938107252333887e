package record

import (
	"errors"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/opencontainers/cgroups"
	"github.com/opencontainers/cgroups/manager"
	"golang.org/x/sys/unix"

	"github.com/lifepod/lifepod/bundle/runtime/sandbox/holder"
)

// A process whose shim has been killed is nobody's child who would tell of its end.
func TestRemove(t *testing.T) {
	bundle := t.TempDir()
	cgroup, err := NewCgroup(holder.Plan{CgroupPath: "/" + filepath.Base(bundle) + t.Name(), CPUShares: 2}, false)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sleep", "infinity")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait(); _ = cgroup.Remove() })
	if err := cgroup.Enter(cmd.Process.Pid); err != nil {
		t.Fatal(err)
	}
	written, err := Of(cmd.Process.Pid, cgroup)
	if err != nil {
		t.Fatal(err)
	}
	if err := written.Write(bundle); err != nil {
		t.Fatal(err)
	}
	another := written
	another.Start++ // the PID is another's by now
	if err := another.end(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(syscall.Signal(0)); err != nil {
		t.Fatalf("another's process was ended: %v", err)
	}
	r, err := Read(bundle)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Remove(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Error("the process has ended by itself")
	}
	if cgroup.manager.Exists() {
		t.Error("the cgroup is still there")
	}
	if err := r.Remove(t.Context()); err != nil {
		t.Errorf("once more: %v", err)
	}
}

func TestNoRecord(t *testing.T) {
	if r, err := Read(t.TempDir()); r != nil || err != nil {
		t.Errorf("%v, %v", r, err)
	}
}

// Whose memory limit does not let its sandbox begin, reads which limit that is.
func TestExplainNamesTheMemoryLimit(t *testing.T) {
	pod := "/" + filepath.Base(t.TempDir()) + t.Name()
	resources := &cgroups.Resources{Memory: 4 << 20, SkipDevices: true}
	limited, err := manager.New(&cgroups.Cgroup{Path: pod, Resources: resources})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = limited.Destroy() })
	if err := errors.Join(limited.Apply(-1), limited.Set(resources)); err != nil {
		t.Fatal(err)
	}
	cgroup, err := NewCgroup(holder.Plan{CgroupPath: pod + "/a"}, false)
	if err != nil {
		t.Fatal(err)
	}
	const limit = " (memory limit too low? It is 4194304 bytes, in whole pages)"
	explained := func(err error, want string) {
		t.Helper()
		if got := cgroup.Explain(err); !errors.Is(got, err) || got.Error() != want {
			t.Errorf("%v, want %s", got, want)
		}
	}
	explained(unix.ENOMEM, "cannot allocate memory"+limit) // there is no cgroup yet
	cmd := exec.Command("sh", "-c", "read go; exec dd if=/dev/zero of=/dev/null bs=64M count=1")
	input, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cgroup.Remove() })
	if err := cgroup.Enter(cmd.Process.Pid); err != nil {
		t.Fatal(err)
	}
	explained(unix.EPERM, "operation not permitted")
	if _, err := input.Write([]byte("go\n")); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	explained(holder.ErrEnded, "its process has ended: OOM-killed"+limit)
}
