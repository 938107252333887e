package footprint

import (
	"runtime"
	"runtime/debug"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lifepod/lifepod/internal/garbage"
)

// TestPace: collections that follow closely have more garbage allowed; it is taken back,
// with the memory, when there are none any more.
func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type change struct {
			At      time.Duration
			Percent int // 0: memory is given back
		}
		var got []change
		began, inUse := time.Now(), uint64(100<<20)
		p := newPace(func(percent int) { got = append(got, change{time.Since(began), percent}) },
			func() { got = append(got, change{time.Since(began), 0}) }, func() uint64 { return inUse })
		collect := func(after time.Duration) {
			time.Sleep(after)
			synctest.Wait()
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
		if p.collected() {
			t.Error("it goes on after its end")
		}
		want := []change{
			{0, atRest}, {66 * time.Second, workGarbage}, {74 * time.Second, 133}, {82 * time.Second, garbage.Usual},
			{92 * time.Second, atRest}, {92 * time.Second, 0}, {144 * time.Second, garbage.Usual},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("limits, -want +got:\n%s", diff)
		}
	})
}

// TestPaceSeesCollections: each collection of this program is noticed, and its limit
// follows.
func TestPaceSeesCollections(t *testing.T) {
	if heapInUse() == 0 {
		runtime.GC()
	}
	before := debug.SetGCPercent(100)
	defer debug.SetGCPercent(before)
	p := NewPace()
	defer p.Stop()
	patience := time.After(time.Minute)
	for {
		runtime.GC()
		p.mu.Lock()
		working := p.working
		p.mu.Unlock()
		if working {
			break
		}
		select {
		case <-patience:
			t.Fatal("no collection is noticed")
		case <-time.After(time.Millisecond):
		}
	}
	if percent := debug.SetGCPercent(100); percent != workGarbage {
		t.Errorf("the limit is %d %%, want %d", percent, workGarbage)
	}
}
