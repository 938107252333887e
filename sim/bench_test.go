//go:build unix

package sim_test

import (
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/manifest"
	"github.com/lifepod/lifepod/sim"
)

// threeContainers is a pod with three containers that end well.
const threeContainers = `
apiVersion: v1
kind: Pod
metadata: {name: three}
spec:
  restartPolicy: Never
  containers:
  - {name: a, image: "lifepod.dev/toolbox:1"}
  - {name: b, image: "lifepod.dev/toolbox:1"}
  - {name: c, image: "lifepod.dev/toolbox:1"}
`

// BenchmarkLife is the life of a pod of three containers from its acceptance until nothing of
// it is left: each step of the machine, with its effects on the pretended runtime. There is no
// worker and no checkpoint in it. The time is that of the processor: whatever else runs on the
// machine does not count.
func BenchmarkLife(b *testing.B) {
	set := assert.Get(manifest.Read([]manifest.Source{{Name: "pod.yaml", Data: []byte(threeContainers)}}, manifest.Options{Now: sim.Began})).Must(b)
	b.ReportAllocs()
	lives, steps := 0, 0
	pod := sim.Of(set.Pod)
	pod.Run(sim.Options{}) // what is made once
	heap, used := heapInUse(), processorTime(b)
	for b.Loop() {
		l := pod.Run(sim.Options{})
		assert.Require(b, l.Gone, "the pod is not gone")
		lives, steps = lives+1, steps+l.Steps
	}
	used = processorTime(b) - used
	b.ReportMetric(float64(lives)/used.Seconds(), "lives/CPU-s")
	b.ReportMetric(float64(steps)/float64(lives), "steps/life")
	b.ReportMetric(float64(heapInUse()-heap)/1024, "KiB-kept")
}

// processorTime is what this process has used of it.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	assert.Must(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// heapInUse is what is still needed after a collection.
func heapInUse() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc) //nolint:gosec // no heap is that large
}
