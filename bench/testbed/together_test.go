package testbed

import (
	"errors"
	"sync/atomic"
	"testing"
)

// All is done once, and nothing more after an error.
func TestTogether(t *testing.T) {
	var done [100]atomic.Int32
	if err := Together(8, len(done), func(i int) error { done[i].Add(1); return nil }); err != nil {
		t.Error(err)
	}
	for i := range done {
		if n := done[i].Load(); n != 1 {
			t.Errorf("%d was done %d times", i, n)
		}
	}
	want, calls := errors.New("broken"), 0
	err := Together(1, 100, func(i int) error {
		if calls++; i == 3 {
			return want
		}
		return nil
	})
	if !errors.Is(err, want) || calls != 4 {
		t.Errorf("%v after %d calls, want %v after 4", err, calls, want)
	}
}
