package worker

import (
	"fmt"
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/lifecycle"
)

// TestHeldHooks: A-HOOK-2: it is said of what waits for the hook that its output is held, and of nothing else.
func TestHeldHooks(t *testing.T) {
	var h heldHooks
	h.Store("main", "held")
	waits := []lifecycle.Wait{
		{Subject: "main", For: lifecycle.WaitHook}, {Subject: "main", For: lifecycle.WaitPreStop},
		{Subject: "main", For: lifecycle.WaitGrace}, {Subject: "other", For: lifecycle.WaitHook},
	}
	h.addTo(waits)
	for i, want := range []string{"held", "held", "", ""} {
		assert.Deep(t, fmt.Sprintf("%s of %s", waits[i].For, waits[i].Subject), want, waits[i].Held)
	}
}
