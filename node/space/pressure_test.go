package space

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/opencontainers/cgroups"
	v1 "k8s.io/api/core/v1"
	kubeletconfig "k8s.io/kubelet/config/v1beta1"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/node/stats"
	"github.com/lifepod/lifepod/roster/pressure"
)

func thresholds(t *testing.T, hard map[string]string) []pressure.Threshold {
	t.Helper()
	return assert.Get(pressure.ParseThresholds(&kubeletconfig.KubeletConfiguration{EvictionHard: hard})).Must(t)
}

// B-EVI-3: the nearer a threshold is, the sooner the next look.
func TestPause(t *testing.T) {
	list := thresholds(t, map[string]string{"memory.available": "1Gi", "nodefs.available": "1Gi", "pid.available": "1000"})
	const gibi = 1 << 30
	for name, test := range map[string]struct {
		seen pressure.Observations
		want time.Duration
	}{
		"nothing known":             {pressure.Observations{}, rest},
		"far away":                  {pressure.Observations{pressure.Memory: {Available: 64 * gibi}}, rest},
		"memory that may go in 2 s": {pressure.Observations{pressure.Memory: {Available: 5 * gibi}}, 2 * time.Second},
		"memory very near":          {pressure.Observations{pressure.Memory: {Available: gibi + 1}}, 100 * time.Millisecond},
		"a disk very near":          {pressure.Observations{pressure.NodeFs: {Available: gibi + 1}, pressure.Memory: {Available: 9 * gibi}}, time.Second},
		"met":                       {pressure.Observations{pressure.Memory: {Available: gibi - 1}}, metPause},
		"processes":                 {pressure.Observations{pressure.PIDs: {Available: 1001}}, 250 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			got := pause(list, test.seen)
			assert.True(t, got == test.want, "%s, want %s", got, test.want)
		})
	}
}

// B-EVI-1: every signal of this machine, and folders on one disk or two.
func TestObserve(t *testing.T) {
	dir := t.TempDir()
	n := NewPressure(PressureConfig{Folder: dir, PodsCgroup: "/", Log: slog.New(slog.DiscardHandler)})
	seen := n.observe(&places{node: dir, images: dir, layers: dir})
	for _, signal := range []pressure.Signal{pressure.Memory, pressure.NodeFs, pressure.ImageFs, pressure.ContainerFs, pressure.PIDs} {
		o, known := seen[signal]
		assert.True(t, known && o.Available > 0 && o.Available <= o.Capacity && time.Since(o.At) <= time.Minute, "%s: %+v", signal, o)
	}
	assert.True(t, sameDisk(dir, dir) && !sameDisk("/", "/proc"), "folders are on other disks than they are")
}

// The kernel of cgroup v1 tells when a cgroup's usage crosses a threshold.
func TestAlarm(t *testing.T) {
	if cgroups.IsCgroup2UnifiedMode() {
		t.Skip("cgroup v2 has no such alarms")
	}
	name := fmt.Sprintf("/lifepod-pressure-%d", os.Getpid())
	dir := stats.MemoryFolder(name)
	assert.Must(t, os.Mkdir(dir, 0o755))
	t.Cleanup(func() {
		for os.Remove(dir) != nil { // its process is ending
			if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
				return
			}
		}
	})
	measured := make(chan struct{}, 1)
	kernel := assert.Get(newKernel(name, func() {
		select {
		case measured <- struct{}{}:
		default:
		}
	})).Must(t)
	ended := make(chan struct{})
	go func() { defer close(ended); kernel.run(t.Context(), slog.New(slog.DiscardHandler)) }()
	t.Cleanup(func() { <-ended })
	before := assert.Get(stats.ReadMemory(name)).Must(t)
	assert.Must(t, kernel.alarm(name, before.Usage+32<<20))
	eater := exec.Command("sh", "-c", "echo $$ > "+filepath.Join(dir, "cgroup.procs")+" && head -c 128M /dev/zero | tail -c 128M | wc -c")
	out, err := eater.CombinedOutput()
	assert.Require(t, err == nil && strings.TrimSpace(string(out)) == "134217728", "%v: %s", err, out)
	select {
	case <-measured:
	case <-time.After(30 * time.Second):
		t.Error("the kernel never told")
	}
}

// A limit is what counts for the memory of all pods.
func TestLimitOfMemory(t *testing.T) {
	m := stats.Memory{Usage: 900, InactiveFile: 400, Limit: 1000, Limited: true}
	got := left(m)
	assert.True(t, got.Available == 500 && got.Capacity == 1000, "left %+v, want 500 of 1000", got)
}

// B-EVI-5: the Node has the conditions that were reported last, and is told when they change.
func TestConditions(t *testing.T) {
	changed := 0
	n := NewPressure(PressureConfig{Conditions: &Conditions{}, Changed: func() { changed++ }})
	assert.True(t, !n.Conditions.Under(v1.NodeDiskPressure), "a node that was not measured is under pressure")
	n.SetConditions([]v1.NodeConditionType{v1.NodeDiskPressure})
	assert.True(t, n.Conditions.Under(v1.NodeDiskPressure) && !n.Conditions.Under(v1.NodeMemoryPressure) && changed == 1,
		"changed %d times, conditions are not those that were set", changed)
}
