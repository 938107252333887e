package stats

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/opencontainers/cgroups"

	"github.com/lifepod/lifepod/internal/assert"
)

func fake(v2 bool, usage, limit uint64, lines map[string]uint64) cgroup {
	c := cgroup{Stats: cgroups.NewStats(), v2: v2}
	c.MemoryStats.Usage.Usage, c.MemoryStats.Usage.Limit = usage, limit
	c.MemoryStats.Stats = lines
	return c
}

// TestFiguresOfBothVersions: the same facts are in other places in cgroup v1 and v2.
func TestFiguresOfBothVersions(t *testing.T) {
	v1 := fake(false, 1000, 9223372036854771712, map[string]uint64{
		"total_inactive_file": 300, "inactive_file": 1, "total_rss": 500, "rss": 2, "total_swap": 70, "total_pgfault": 9,
	})
	v1.MemoryStats.SwapUsage = cgroups.MemoryData{Usage: 1070, Limit: 9223372036854771712}
	v2 := fake(true, 1000, math.MaxUint64, map[string]uint64{"inactive_file": 300, "anon": 500, "pgfault": 9})
	v2.MemoryStats.SwapOnlyUsage = cgroups.MemoryData{Usage: 70, Limit: math.MaxUint64}
	type figures struct {
		WorkingSet, Anonymous, Faults, Swap, SwapLimit uint64
		Limited, Counted                               bool
	}
	want := figures{WorkingSet: 700, Anonymous: 500, Faults: 9, Swap: 70, Counted: true}
	for name, c := range map[string]cgroup{"v1": v1, "v2": v2} {
		got := figures{WorkingSet: c.workingSet(), Anonymous: c.anonymous(), Faults: c.stat("pgfault", "pgfault")}
		got.Swap, got.SwapLimit, got.Counted = c.swap()
		_, got.Limited = c.limit()
		assert.Deep(t, name, want, got)
	}
	limited := fake(false, 100, 1000, map[string]uint64{"total_inactive_file": 101})
	limited.MemoryStats.SwapUsage.Limit = 1500
	_, swap, counted := limited.swap()
	if limit, found := limited.limit(); limit != 1000 || !found || swap != 500 || counted || limited.workingSet() != 0 {
		t.Errorf("limit %d %v, swap limit %d, counted %v, working set %d", limit, found, swap, counted, limited.workingSet())
	}
}

// TestRootIsRead: the machine's own cgroup, of whichever version.
func TestRootIsRead(t *testing.T) {
	c := assert.Get(readCgroup("/")).Must(t)
	addPressure(c.Stats)
	assert.True(t, c.CpuStats.CpuUsage.TotalUsage != 0 && c.workingSet() != 0 && c.workingSet() <= c.MemoryStats.Usage.Usage,
		"cpu %+v, memory %+v", c.CpuStats.CpuUsage, c.MemoryStats.Usage)
	assert.Fails(t, assert.ErrorOf(readCgroup("/there/is/none")), "a cgroup that is not there can be read")
}

func TestPressure(t *testing.T) {
	dir := t.TempDir()
	assert.Must(t, os.Mkdir(filepath.Join(dir, "pressure"), 0o700))
	text := "some avg10=1.50 avg60=2.00 avg300=0.25 total=1234\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=7\n"
	assert.Must(t, os.WriteFile(filepath.Join(dir, "pressure/cpu"), []byte(text), 0o600))
	want := &cgroups.PSIStats{
		Some: cgroups.PSIData{Avg10: 1.5, Avg60: 2, Avg300: .25, Total: 1234}, Full: cgroups.PSIData{Total: 7},
	}
	assert.Deep(t, "pressure", want, readPressure(dir, "cpu"))
	got := readPressure(dir, "none")
	assert.True(t, got == nil, "without a file: %+v", got)
}

func TestCgroupNames(t *testing.T) {
	for name, want := range map[string]bool{
		"burstable": true, "besteffort": true, "kubepods-burstable.slice": true,
		"pod1234": false, "kubepods-burstable-pod1234.slice": false, "kubepods-pod1234.slice": false,
	} {
		assert.Equal(t, want, isLevel(name), "isLevel(%s)", name)
	}
	list := []string{"cgroup.clone", "cri-containerd-abc.scope", "def"}
	for id, want := range map[string]string{"abc": "cri-containerd-abc.scope", "def": "def", "ghi": ""} {
		assert.Equal(t, want, folderOf(list, id), "folderOf(%s)", id)
	}
}
