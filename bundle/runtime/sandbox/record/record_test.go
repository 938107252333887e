package record

import (
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

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
