package podcgroup

import (
	"errors"
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/lifepod/lifepod/internal/assert"
)

// A cgroup that is there is limited to its reservation, or to the CPU of it; one that
// isn't is an error (A-RES-6).
func TestEnforceReserved(t *testing.T) {
	d := testDriver(t)
	reserved := list("500m", "64Mi")
	reserved[ResourcePIDs] = resource.MustParse("99")
	if err := d.EnforceReserved(d.Parent, reserved, false); !errors.Is(err, errNoCgroup) {
		t.Fatalf("A-RES-6 without the cgroup: %v", err)
	}
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
	if got := values(); got[0] == before[0] || got[1] != before[1] || got[2] != before[2] {
		t.Errorf("A-RES-6 compressible: %v, before %v", got, before)
	}
	assert.Must(t, d.EnforceReserved(d.Parent, reserved, false))
	if got := values(); got[1] != "67108864" || got[2] != "99" {
		t.Errorf("A-RES-6 all of it: %v", got)
	}
	assert.Must(t, d.Enforce(reserved))
	if got := values(); got[1] != "67108864" || got[2] != "99" {
		t.Errorf("A-RES-6 all pods: %v", got)
	}
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
