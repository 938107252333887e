package footprint

import (
	"runtime"
	"runtime/debug"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/internal/garbage"
)

// TestPace: collections that follow closely have more garbage allowed; it is taken back,
// with the memory, when there are none any more.
func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type change struct {
			At      time.Duration
			Percent int // -N: memory is given back, unless it was in the last N seconds
		}
		var got []change
		began, inUse, automatic := time.Now(), uint64(100<<20), uint64(7)
		p := newPace(func(percent int) { got = append(got, change{time.Since(began), percent}) },
			func(unless time.Time) {
				got = append(got, change{time.Since(began), -int(time.Since(unless).Seconds())})
			}, func() uint64 { return inUse }, func() uint64 { return automatic })
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
			{0, atRest}, {66 * time.Second, workGarbage}, {74 * time.Second, 133}, {82 * time.Second, garbage.Usual},
			{92 * time.Second, atRest}, {92 * time.Second, -10}, {144 * time.Second, garbage.Usual},
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
