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
	assert.Equal(t, [2]uint64{4928 << 10, 8000 << 10}, [2]uint64{machine.limitOf("/", file), machine.limitOf("/kubepods", file)}, "B-EVI-1 of the machine and of a cgroup")
	assert.Equal(t, 8000<<10, machine.limitOf("/", filepath.Join(t.TempDir(), "none")), "without the kernel's word")
}
