package footprint

import (
	"runtime/debug"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lifepod/lifepod/internal/assert"
)

// TestGiveBackOnce: what was just given back is not given back again.
func TestGiveBackOnce(t *testing.T) {
	before := time.Now()
	GiveBack()
	given := forced()
	giveBackUnless(before)
	again := forced() - given
	assert.True(t, again <= 0, "%d collections, want none", again)
	giveBackUnless(time.Now())
	assert.True(t, forced() != given, "memory is not given back")
}

// forced is how many collections were asked for.
func forced() uint64 { return metric("/gc/cycles/forced:gc-cycles") }

// TestShrinkStacks: goroutines that wait keep little of the stack that they once needed.
func TestShrinkStacks(t *testing.T) {
	const goroutines, kept = 1000, 8 << 10
	deeply := func() { use(300) }
	if took := stacksOf(goroutines, deeply, func() {}); took < goroutines*4*kept {
		t.Errorf("%d goroutines take %d bytes at first, want %d at least", goroutines, took, goroutines*4*kept)
	}
	if took := stacksOf(goroutines, deeply, GiveBack); took > goroutines*kept {
		t.Errorf("%d goroutines take %d bytes afterwards, want %d at most", goroutines, took, goroutines*kept)
	}
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

// TestRest: memory is given back once nothing has happened for a while, and again
// after something has; for no more than one percent of the time.
func TestRest(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		takes time.Duration
		want  []time.Duration
	}{
		{takes: time.Millisecond, want: []time.Duration{12 * time.Second, 72 * time.Second, 82 * time.Second}},
		{takes: 600 * time.Millisecond, want: []time.Duration{12 * time.Second, 72600 * time.Millisecond, 133200 * time.Millisecond}},
	} {
		t.Run(c.takes.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var given []time.Duration
				began := time.Now()
				r := newRest(5*time.Second, func() {
					given = append(given, time.Since(began))
					time.Sleep(c.takes)
				})
				defer r.Stop()
				for _, quiet := range []time.Duration{3 * time.Second, 4 * time.Second, time.Minute, 10 * time.Second} {
					time.Sleep(quiet)
					r.Stir()
				}
				time.Sleep(2 * time.Minute)
				assert.Deep(t, "given back at", c.want, given)
			})
		})
	}
}
