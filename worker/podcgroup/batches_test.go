package podcgroup

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
)

// TestTogether: whoever asks while a batch is under way waits for the next one, which is one for all of them, and gets its error.
func TestTogether(t *testing.T) {
	var r batch
	begun, goOn, second := make(chan struct{}), make(chan struct{}), errors.New("second")
	var all sync.WaitGroup
	all.Go(func() {
		err := r.together(func() error {
			close(begun)
			<-goOn
			return nil
		})
		assert.NoError(t, err)
	})
	<-begun
	var runs, failed atomic.Int32
	for range 50 {
		all.Go(func() {
			err := r.together(func() error {
				runs.Add(1)
				return second
			})
			if errors.Is(err, second) {
				failed.Add(1)
			}
		})
	}
	for r.asked.Load() < 51 {
		runtime.Gosched()
	}
	close(goOn)
	all.Wait()
	if runs.Load() != 1 || failed.Load() != 50 {
		t.Errorf("%d runs for %d who were told of its error, want 1 for 50", runs.Load(), failed.Load())
	}
	if err := r.together(func() error { runs.Add(1); return nil }); err != nil || runs.Load() != 2 {
		t.Errorf("asked again: %v, %d runs", err, runs.Load())
	}
}

// TestTogetherAlone: without batches it is done for each.
func TestTogetherAlone(t *testing.T) {
	var none Batches
	times := 0
	for range 2 {
		assert.Must(t, none.protected.together(func() error { times++; return nil }))
	}
	if times != 2 {
		t.Errorf("%d times", times)
	}
}
