package children

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/lifepod/lifepod/bundle/runtime/internal/assert"
)

// Children are reaped when no process is being made; others begin after it.
func TestChildrenWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, begun := &Reaper{}, time.Now()
		made := r.Making()
		var reaped, second time.Duration
		go r.alone(t.Context(), time.Second, time.Minute, func() { reaped = time.Since(begun) })
		go func() {
			time.Sleep(2 * time.Second) // the first does not end of itself: this one waits
			done := r.Making()
			second = time.Since(begun)
			done()
		}()
		time.Sleep(3 * time.Second)
		made()
		synctest.Wait()
		assert.True(t, reaped == 3*time.Second && second == 3*time.Second, "reaped after %v, the second was made after %v; want 3s", reaped, second)
	})
}

// A process that begins just after another keeps nobody waiting: within some time that is no harm.
func TestOthersBeginWhileChildrenWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, begun := &Reaper{}, time.Now()
		made := r.Making()
		var reaped time.Duration
		go r.alone(t.Context(), time.Second, time.Minute, func() { reaped = time.Since(begun) })
		synctest.Wait()
		other := r.Making() // at once
		made()
		time.Sleep(100 * time.Millisecond)
		other()
		synctest.Wait()
		assert.True(t, reaped == 100*time.Millisecond, "reaped after %v, want 100ms", reaped)
	})
}

// One that hangs does not keep others' exits.
func TestChildrenDoNotWaitForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, begun := &Reaper{}, time.Now()
		made := r.Making()
		r.alone(t.Context(), time.Second, time.Minute, func() {
			assert.Equal(t, time.Minute+time.Second, time.Since(begun), "reaped after")
		})
		made()
		r.Making()()
	})
}
