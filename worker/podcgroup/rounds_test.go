package podcgroup

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
)

// TestTogether: whoever asks while a round is under way waits for the next one, which is one for all of them, and gets its error.
func TestTogether(t *testing.T) {
	var r round
	begun, goOn, second := make(chan struct{}), make(chan struct{}), errors.New("second")
	var all sync.WaitGroup
	all.Go(func() {
		err := r.together(func() error {
			close(begun)
			<-goOn
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
	<-begun
	var rounds, failed atomic.Int32
	for range 50 {
		all.Go(func() {
			err := r.together(func() error {
				rounds.Add(1)
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
	if rounds.Load() != 1 || failed.Load() != 50 {
		t.Errorf("%d rounds for %d who were told of its error, want 1 for 50", rounds.Load(), failed.Load())
	}
	if err := r.together(func() error { rounds.Add(1); return nil }); err != nil || rounds.Load() != 2 {
		t.Errorf("asked again: %v, %d rounds", err, rounds.Load())
	}
}

// TestTogetherAlone: without rounds it is done for each.
func TestTogetherAlone(t *testing.T) {
	var none Rounds
	times := 0
	for range 2 {
		if err := none.protected.together(func() error { times++; return nil }); err != nil {
			t.Fatal(err)
		}
	}
	if times != 2 {
		t.Errorf("%d times", times)
	}
}
