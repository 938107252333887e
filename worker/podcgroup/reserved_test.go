package podcgroup

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/lifecycle"
)

// A cgroup that is there is limited to its reservation, or to the CPU of it; one that
// isn't is an error (A-RES-6).
func TestEnforceReserved(t *testing.T) {
	d := testDriver(t)
	reserved := list("500m", "64Mi")
	reserved[ResourcePIDs] = resource.MustParse("99")
	err := d.EnforceReserved(d.Parent, reserved, false)
	assert.Require(t, errors.Is(err, errNoCgroup), "A-RES-6 without the cgroup: %v", err)
	assert.Must(t, d.Enforce(v1.ResourceList{}))
	files := [][2]string{{"cpu.shares", "cpu.weight"}, {"memory.limit_in_bytes", "memory.max"}, {"pids.max", "pids.max"}}
	values := func() (out []string) {
		for _, file := range files {
			out = append(out, readIn(t, folders(d, d.Root()), file[0], file[1]))
		}
		return out
	}
	before := values()
	assert.Must(t, d.EnforceReserved(d.Parent, reserved, true))
	got := values()
	assert.True(t, got[0] != before[0] && got[1] == before[1] && got[2] == before[2], "A-RES-6 compressible: %v, before %v", got, before)
	assert.Must(t, d.EnforceReserved(d.Parent, reserved, false))
	got = values()
	assert.True(t, got[1] == "67108864" && got[2] == "99", "A-RES-6 all of it: %v", got)
	assert.Must(t, d.Enforce(reserved))
	got = values()
	assert.True(t, got[1] == "67108864" && got[2] == "99", "A-RES-6 all pods: %v", got)
}

// With systemd a reserved cgroup is named by its slice (A-RES-6).
func TestNamesOf(t *testing.T) {
	for _, test := range []struct {
		systemd    bool
		in, inPath string
	}{
		{false, "/kube/reserved", "/kube/reserved"},
		{true, "/system.slice", "/system.slice"},
		{true, "/kube.slice/kube-reserved.slice", "/kube.slice/kube-reserved.slice"},
	} {
		d := Driver{Systemd: test.systemd}
		assert.Deep(t, fmt.Sprintf("A-RES-6 %s", test.in), test.inPath, d.path(namesOf(test.in, d.Systemd)))
	}
}

// TestUsed: what processes in the pod's cgroup have used is reported after their end, with the limit.
func TestUsed(t *testing.T) {
	d := testDriver(t)
	pod := podOf(needs(list("100m", "64Mi"), list("100m", "64Mi")))
	assert.Must(t, d.Ensure(pod))
	m := assert.Get(d.manager(d.names(lifecycle.QOSClass(pod), pod.UID), Resources{})).Must(t)
	ready := assert.Get(os.CreateTemp(t.TempDir(), "")).Must(t)
	defer func() { _ = ready.Close() }() // only its name counts
	command := exec.Command("sh", "-c", "while [ -e "+ready.Name()+" ]; do sleep 0.01; done; head -c 8000000 /dev/zero | tail -c 8000000 > /dev/null")
	assert.Must(t, command.Start())
	err := m.Apply(command.Process.Pid)
	_ = os.Remove(ready.Name())
	if waited := command.Wait(); err != nil || waited != nil {
		t.Fatal(err, waited)
	}
	used := assert.Get(d.Used(pod)).Must(t)
	assert.True(t, used.MemoryLimit == 64<<20 && used.MemoryPeak >= 8_000_000 && used.CPU != 0, "used %+v", used)
}
