package podcgroup

import (
	"fmt"
	"testing"

	"github.com/opencontainers/cgroups"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/lifepod/lifepod/internal/assert"
)

// A pod's cgroup first has room for the old and the new values, then has the
// new ones (A-ACT-12).
func TestResize(t *testing.T) {
	d := testDriver(t)
	was := podOf(needs(list("500m", "64Mi"), list("500m", "64Mi")))
	is := podOf(needs(list("250m", "128Mi"), list("250m", "128Mi")))
	assert.Must(t, d.Ensure(was))
	tests := []struct {
		name         string
		states       []*v1.Pod
		want1, want2 [3]string // as in TestEnsureSetsTheValues
	}{
		{"room", []*v1.Pod{was, is}, [3]string{"512", "50000", "134217728"}, [3]string{"20", "50000 100000", "134217728"}},
		{"new", []*v1.Pod{is}, [3]string{"256", "25000", "134217728"}, [3]string{"10", "25000 100000", "134217728"}},
		{"back", []*v1.Pod{was}, [3]string{"512", "50000", "67108864"}, [3]string{"20", "50000 100000", "67108864"}},
	}
	for _, test := range tests {
		if err := d.Resize(test.states); err != nil {
			t.Fatalf("%s: %v", test.name, err)
		}
		got := [3]string{
			read(t, d, is, "cpu.shares", "cpu.weight"),
			read(t, d, is, "cpu.cfs_quota_us", "cpu.max"),
			read(t, d, is, "memory.limit_in_bytes", "memory.max"),
		}
		want := test.want1
		if cgroups.IsCgroup2UnifiedMode() {
			want = test.want2
		}
		assert.Deep(t, fmt.Sprintf("%s: values", test.name), want, got)
	}
}

// No limit is the greatest one. Huge pages, which no resize changes, keep theirs.
func TestEnoughFor(t *testing.T) {
	limited, unlimited := podOf(needs(list("1", ""), list("2", "64Mi"))), podOf(needs(list("2", ""), nil))
	for _, pod := range []*v1.Pod{limited, unlimited} {
		pod.Spec.Containers[0].Resources.Requests["hugepages-2Mi"] = resource.MustParse("6Mi")
	}
	got := EnoughFor([]*v1.Pod{limited, unlimited}, CPULimits{})
	assert.Deep(t, "EnoughFor", (Resources{CPUShares: 2048, CPUPeriod: 100_000, HugePages: map[string]uint64{"2MB": 6 << 20}}), got)
}

// What shares stand for, as the API shows it (A-CST-15).
func TestMilliCPUOfShares(t *testing.T) {
	for milli, shares := range map[int64]int64{2: 2, 100: 102, 250: 256, 1000: 1024} {
		assert.Equal(t, milli, MilliCPUOfShares(shares), "MilliCPUOfShares(%d)", shares)
	}
}
