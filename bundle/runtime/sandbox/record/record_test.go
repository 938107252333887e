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

	"github.com/lifepod/lifepod/bundle/runtime/internal/assert"
	"github.com/lifepod/lifepod/bundle/runtime/sandbox/holder"
)

// A process whose shim has been killed is nobody's child who would tell of its end.
func TestRemove(t *testing.T) {
	bundle := t.TempDir()
	cgroup := assert.Get(NewCgroup(holder.Plan{CgroupPath: "/" + filepath.Base(bundle) + t.Name(), CPUShares: 2}, false)).Must(t)
	cmd := exec.Command("sleep", "infinity")
	assert.Must(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait(); _ = cgroup.Remove() })
	assert.Must(t, cgroup.Enter(cmd.Process.Pid))
	written := assert.Get(Of(cmd.Process.Pid, cgroup)).Must(t)
	assert.Must(t, written.Write(bundle))
	another := written
	another.Start++ // the PID is another's by now
	assert.Must(t, another.end(t.Context()))
	if err := cmd.Process.Signal(syscall.Signal(0)); err != nil {
		t.Fatalf("another's process was ended: %v", err)
	}
	r := assert.Get(Read(bundle)).Must(t)
	assert.Must(t, r.Remove(t.Context()))
	assert.Fails(t, cmd.Wait(), "the process has ended by itself")
	assert.True(t, !cgroup.manager.Exists(), "the cgroup is still there")
	assert.NoError(t, r.Remove(t.Context()), "once more")
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
	limited := assert.Get(manager.New(&cgroups.Cgroup{Path: pod, Resources: resources})).Must(t)
	t.Cleanup(func() { _ = limited.Destroy() })
	assert.Must(t, limited.Apply(-1), limited.Set(resources))
	cgroup, err := NewCgroup(holder.Plan{CgroupPath: pod + "/a"}, false)
	assert.Must(t, err)
	const limit = " (memory limit too low? It is 4194304 bytes, in whole pages)"
	explained := func(err error, want string) {
		t.Helper()
		if got := cgroup.Explain(err); !errors.Is(got, err) || got.Error() != want {
			t.Errorf("%v, want %s", got, want)
		}
	}
	explained(unix.ENOMEM, "cannot allocate memory"+limit) // there is no cgroup yet
	cmd := exec.Command("sh", "-c", "read go; exec dd if=/dev/zero of=/dev/null bs=64M count=1")
	input := assert.Get(cmd.StdinPipe()).Must(t)
	assert.Must(t, cmd.Start())
	t.Cleanup(func() { _ = cgroup.Remove() })
	assert.Must(t, cgroup.Enter(cmd.Process.Pid))
	explained(unix.EPERM, "operation not permitted")
	assert.Must(t, assert.ErrorOf(input.Write([]byte("go\n"))))
	_ = cmd.Wait()
	explained(holder.ErrEnded, "its process has ended: OOM-killed"+limit)
}
