package stats

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
)

// The machine's memory is less what huge pages hold; a cgroup without a limit has all of it (B-EVI-1).
func TestHugePages(t *testing.T) {
	file := filepath.Join(t.TempDir(), "meminfo")
	assert.Must(t, os.WriteFile(file, []byte("MemTotal:       8000 kB\nHugePages_Total:       1\nHugepagesize:       2048 kB\nHugetlb:         3072 kB\n"), 0o600))
	machine := ram{memory: 8000 << 10}
	if got := [2]uint64{machine.limitOf("/", file), machine.limitOf("/kubepods", file)}; got != [2]uint64{4928 << 10, 8000 << 10} {
		t.Errorf("B-EVI-1 of the machine and of a cgroup: %v", got)
	}
	if got := machine.limitOf("/", filepath.Join(t.TempDir(), "none")); got != 8000<<10 {
		t.Errorf("without the kernel's word: %d", got)
	}
}
