package footprint

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/internal/garbage"
)

// TestShrinkStacks: goroutines that wait keep little of the stack that they once needed.
func TestShrinkStacks(t *testing.T) {
	const goroutines, kept = 1000, 8 << 10
	deeply := func() { use(300) }
	took := stacksOf(goroutines, deeply, func() {})
	assert.True(t, took >= goroutines*4*kept, "%d goroutines take %d bytes at first, want %d at least", goroutines, took, goroutines*4*kept)
	took = stacksOf(goroutines, deeply, GiveBack)
	assert.True(t, took <= goroutines*kept, "%d goroutines take %d bytes afterwards, want %d at most", goroutines, took, goroutines*kept)
}

// stacksOf is how much more stacks take when so many goroutines have done something, and wait, and then the collector has.
func stacksOf(goroutines int, do, collect func()) int {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // nothing else collects
	GiveBack()
	var running sync.WaitGroup
	before, end, done := stacks(), make(chan struct{}), make(chan struct{}, goroutines)
	for range goroutines {
		running.Go(func() {
			do()
			done <- struct{}{}
			<-end
		})
	}
	for range goroutines {
		<-done
	}
	collect()
	took := int(stacks()) - int(before) //nolint:gosec // far below the largest
	close(end)
	running.Wait()
	return took
}

// use needs so many times 100 bytes of the stack, at least.
func use(times int) (sum byte) {
	var some [100]byte
	some[times%len(some)] = 1
	if times > 0 {
		sum = use(times - 1)
	}
	return sum + some[0]
}

// TestPace: collections that follow closely have more garbage allowed; it is taken back,
// with the memory, when there are none any more.
func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type change struct {
			At      time.Duration
			Percent int // -1: memory is given back
		}
		var got []change
		began, inUse, automatic := time.Now(), uint64(100<<20), uint64(7)
		p := newPace(func(percent int) { got = append(got, change{time.Since(began), percent}) },
			func() { got = append(got, change{time.Since(began), -1}) }, func() uint64 { return inUse }, func() uint64 { return automatic })
		collect := func(after time.Duration) {
			time.Sleep(after)
			synctest.Wait()
			automatic++
			p.collected()
		}
		for range 3 { // by GiveBack
			p.collected()
		}
		collect(time.Minute) // at rest
		collect(5 * time.Second)
		collect(time.Second) // 1m6s: it works
		inUse = 192 << 20
		collect(8 * time.Second) // 1m14s
		inUse = 4 << 30
		collect(8 * time.Second) // 1m22s
		time.Sleep(time.Minute)  // 1m32s: it rests
		collect(time.Second)
		collect(time.Second) // it works again
		p.Stop()
		time.Sleep(time.Minute)
		assert.True(t, !p.collected(), "it goes on after its end")
		want := []change{
			{0, garbage.Little}, {66 * time.Second, workGarbage}, {74 * time.Second, 133}, {82 * time.Second, garbage.Usual},
			{92 * time.Second, garbage.Little}, {92 * time.Second, -1}, {144 * time.Second, garbage.Usual},
		}
		assert.Deep(t, "limits", want, got)
	})
}

// TestPaceSeesCollections: each collection of this program is noticed, and its limit
// follows; but for those that were asked for.
func TestPaceSeesCollections(t *testing.T) {
	if heapInUse() == 0 {
		runtime.GC()
	}
	before := debug.SetGCPercent(100)
	defer debug.SetGCPercent(before)
	p := NewPace()
	defer p.Stop()
	works := func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.working
	}
	for range 20 {
		runtime.GC()
		time.Sleep(time.Millisecond)
	}
	assert.True(t, !works(), "collections that were asked for are taken for work")
	patience := time.After(time.Minute)
	for !works() {
		garbageOf = make([]byte, 8<<20)
		select {
		case <-patience:
			t.Fatal("no collection is noticed")
		case <-time.After(time.Millisecond):
		}
	}
	percent := debug.SetGCPercent(100)
	assert.True(t, percent == workGarbage, "the limit is %d %%, want %d", percent, workGarbage)
}

// garbageOf is garbage as soon as there is the next.
var garbageOf []byte

// TestLateTimers: all threads have the slack, also those begun later, and a program that was started OnTime has not.
func TestLateTimers(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	t.Cleanup(func() {
		assert.NoError(t, LateTimers(kernelSlack))
	})
	assert.Must(t, LateTimers(10*time.Millisecond))
	const want = "10000000"
	begun, end := make(chan struct{}), make(chan struct{})
	defer close(end)
	for range 20 { // each holds a thread, so most need a new one
		go func() {
			runtime.LockOSThread()
			begun <- struct{}{}
			<-end
		}()
		<-begun
	}
	threads, err := filepath.Glob("/proc/self/task/*")
	if err != nil || len(threads) == 0 {
		t.Fatal(threads, err)
	}
	for _, thread := range threads {
		got, err := os.ReadFile(filepath.Join("/proc", filepath.Base(thread), "timerslack_ns"))
		assert.True(t, err == nil || errors.Is(err, fs.ErrNotExist), "%v", err)
		assert.True(t, err != nil || strings.TrimSpace(string(got)) == want, "a thread has %s", got)
	}
	slack := func(start func(func() error) error) string {
		var out bytes.Buffer
		cmd := exec.Command("cat", "/proc/self/timerslack_ns")
		cmd.Stdout = &out
		assert.Must(t, errors.Join(start(cmd.Start), cmd.Wait()))
		return strings.TrimSpace(out.String())
	}
	got := slack(func(start func() error) error { return start() })
	assert.True(t, got == want, "a program inherits %s: OnTime isn't needed", got)
	assert.Equal(t, "50000", slack(OnTime), "a program that was started on time")
	assert.Equal(t, want, slack(func(start func() error) error { return start() }), "the thread that started")
}
