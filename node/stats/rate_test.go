package stats

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/lifepod/lifepod/internal/assert"
)

// TestRates: a rate is over the time since an older request, however many ask in
// between, and what is new has none.
func TestRates(t *testing.T) {
	r := rates{of: map[string]rate{}}
	start := time.Now()
	ask := func(name string, after time.Duration, nanos uint64) int64 {
		rate := r.nanoCores(name, start.Add(after), nanos)
		if rate == nil {
			return -1
		}
		return int64(*rate)
	}
	for _, step := range []struct {
		name  string
		after time.Duration
		nanos uint64
		want  int64
	}{
		{"a", 0, 1e9, -1},
		{"a", time.Second, 2e9, 1e9},
		{"a", 2 * time.Second, 2e9, 5e8}, // still since the first
		{"b", 2 * time.Second, 5, -1},
		{"a", 12 * time.Second, 2e9, 83333333},
		{"a", 13 * time.Second, 2e9, 76923076},
		{"a", 24 * time.Second, 3e9, 83333333},
		{"a", 25 * time.Second, 1, -1}, // it began anew
		{"c", 20 * time.Minute, 1, -1},
	} {
		assert.Equal(t, step.want, ask(step.name, step.after, step.nanos), "%s after %v", step.name, step.after)
	}
	assert.True(t, len(r.of) == 1, "%d are remembered of which nobody has asked for long", len(r.of))
}

// The machine's memory is less what huge pages hold; a cgroup without a limit has all of it (B-EVI-1).
func TestHugePages(t *testing.T) {
	file := filepath.Join(t.TempDir(), "meminfo")
	assert.Must(t, os.WriteFile(file, []byte("MemTotal:       8000 kB\nHugePages_Total:       1\nHugepagesize:       2048 kB\nHugetlb:         3072 kB\n"), 0o600))
	machine := ram{memory: 8000 << 10}
	assert.Equal(t, [2]uint64{4928 << 10, 8000 << 10}, [2]uint64{machine.limitOf("/", file), machine.limitOf("/kubepods", file)}, "B-EVI-1 of the machine and of a cgroup")
	assert.Equal(t, 8000<<10, machine.limitOf("/", filepath.Join(t.TempDir(), "none")), "without the kernel's word")
}
