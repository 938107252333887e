package worker

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/lifepod/lifepod/lifecycle"
)

// TestLooks: so many snapshots that no machine has asked for are made at the same time; the others wait, though not for those that are
// asked for, nor when the worker ends.
func TestLooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		looks := make(Looks, 2)
		entered := make(chan func(), 5)
		for range 5 {
			go func() { entered <- looks.enter(ctx, lifecycle.Observe{}) }()
		}
		synctest.Wait()
		if len(entered) != 2 {
			t.Fatalf("%d at the same time", len(entered))
		}
		looks.enter(ctx, lifecycle.Observe{ID: 1})()
		looks.enter(ctx, lifecycle.StopSandbox{})()
		Looks(nil).enter(ctx, lifecycle.Observe{})()
		(<-entered)()
		synctest.Wait()
		if len(entered) != 2 { // one has left, one has come
			t.Errorf("%d after the first", len(entered))
		}
		cancel()
		synctest.Wait()
		if len(entered) != 4 {
			t.Errorf("%d when the workers end", len(entered))
		}
		for range 4 {
			(<-entered)()
		}
		if len(looks) != 0 {
			t.Errorf("%d have not left", len(looks))
		}
	})
}
