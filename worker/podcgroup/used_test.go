package podcgroup

import (
	"os"
	"os/exec"
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/lifecycle"
)

// TestUsed: what processes in the pod's cgroup have used is reported after their end, with the limit.
func TestUsed(t *testing.T) {
	d := testDriver(t)
	pod := podOf(needs(list("100m", "64Mi"), list("100m", "64Mi")))
	assert.Must(t, d.Ensure(pod))
	m, err := d.manager(d.names(lifecycle.QOSClass(pod), pod.UID), Resources{})
	assert.Must(t, err)
	ready, err := os.CreateTemp(t.TempDir(), "")
	assert.Must(t, err)
	defer func() { _ = ready.Close() }() // only its name counts
	command := exec.Command("sh", "-c", "while [ -e "+ready.Name()+" ]; do sleep 0.01; done; head -c 8000000 /dev/zero | tail -c 8000000 > /dev/null")
	assert.Must(t, command.Start())
	err = m.Apply(command.Process.Pid)
	_ = os.Remove(ready.Name())
	if waited := command.Wait(); err != nil || waited != nil {
		t.Fatal(err, waited)
	}
	used, err := d.Used(pod)
	assert.Must(t, err)
	if used.MemoryLimit != 64<<20 || used.MemoryPeak < 8_000_000 || used.CPU == 0 {
		t.Errorf("used %+v", used)
	}
}
