package lifecycle

import "testing"

// A pod is blocked by what the runtime has refused, and waits for a runtime that says nothing.
func TestFailureBlocks(t *testing.T) {
	for class, want := range map[FailureClass]bool{Failed: true, NotFound: true, Uncertain: false, Unavailable: false, Cancelled: false} {
		if got := (&Failure{Class: class}).blocks(); got != want {
			t.Errorf("class %d blocks: %t", class, got)
		}
	}
}
