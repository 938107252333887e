package podcgroup

import (
	"os"
	"os/exec"
	"testing"

	"github.com/lifepod/lifepod/lifecycle"
)

// TestUsed: what processes in the pod's cgroup have used is reported after their end, with the limit.
func TestUsed(t *testing.T) {
	d := testDriver(t)
	pod := podOf(needs(list("100m", "64Mi"), list("100m", "64Mi")))
	if err := d.Ensure(pod); err != nil {
		t.Fatal(err)
	}
	m, err := d.manager(d.names(lifecycle.QOSClass(pod), pod.UID), Resources{})
	if err != nil {
		t.Fatal(err)
	}
	ready, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ready.Close() }() // only its name counts
	command := exec.Command("sh", "-c", "while [ -e "+ready.Name()+" ]; do sleep 0.01; done; head -c 8000000 /dev/zero | tail -c 8000000 > /dev/null")
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	err = m.Apply(command.Process.Pid)
	_ = os.Remove(ready.Name())
	if waited := command.Wait(); err != nil || waited != nil {
		t.Fatal(err, waited)
	}
	used, err := d.Used(pod)
	if err != nil {
		t.Fatal(err)
	}
	if used.MemoryLimit != 64<<20 || used.MemoryPeak < 8_000_000 || used.CPU == 0 {
		t.Errorf("used %+v", used)
	}
}
