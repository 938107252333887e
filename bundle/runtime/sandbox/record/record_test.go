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

	"github.com/lifepod/lifepod/bundle/runtime/internal/must"
	"github.com/lifepod/lifepod/bundle/runtime/sandbox/holder"
)

// A process whose shim has been killed is nobody's child who would tell of its end.
func TestRemove(t *testing.T) {
	bundle := t.TempDir()
	cgroup, err := NewCgroup(holder.Plan{CgroupPath: "/" + filepath.Base(bundle) + t.Name(), CPUShares: 2}, false)
	must.Succeed(t, err)
	cmd := exec.Command("sleep", "infinity")
	must.Succeed(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait(); _ = cgroup.Remove() })
	must.Succeed(t, cgroup.Enter(cmd.Process.Pid))
	written, err := Of(cmd.Process.Pid, cgroup)
	must.Succeed(t, err)
	must.Succeed(t, written.Write(bundle))
	another := written
	another.Start++ // the PID is another's by now
	must.Succeed(t, another.end(t.Context()))
	if err := cmd.Process.Signal(syscall.Signal(0)); err != nil {
		t.Fatalf("another's process was ended: %v", err)
	}
	r, err := Read(bundle)
	must.Succeed(t, err)
	must.Succeed(t, r.Remove(t.Context()))
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
	must.Succeed(t, err)
	t.Cleanup(func() { _ = limited.Destroy() })
	must.Succeed(t, limited.Apply(-1), limited.Set(resources))
	cgroup, err := NewCgroup(holder.Plan{CgroupPath: pod + "/a"}, false)
	must.Succeed(t, err)
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
	must.Succeed(t, err)
	must.Succeed(t, cmd.Start())
	t.Cleanup(func() { _ = cgroup.Remove() })
	must.Succeed(t, cgroup.Enter(cmd.Process.Pid))
	explained(unix.EPERM, "operation not permitted")
	if _, err := input.Write([]byte("go\n")); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	explained(holder.ErrEnded, "its process has ended: OOM-killed"+limit)
}
