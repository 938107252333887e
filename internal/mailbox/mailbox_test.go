package mailbox

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Items leave the mailbox in the order in which they came, whatever is taken meanwhile (A-SYNC-2).
func TestOrder(t *testing.T) {
	m := New[int]()
	var got, want []int
	for i := range 100 {
		m.Post(i)
		want = append(want, i)
		if i%7 == 0 {
			got = append(got, m.Take()...)
		}
	}
	<-m.Ready()
	got = append(got, m.Take()...)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("items (-want +got):\n%s", diff)
	}
	select {
	case <-m.Ready():
		t.Error("an empty mailbox is ready")
	default:
	}
}

// Behind tells how long the oldest item has waited, also while it is being handled.
func TestBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := New[int]()
		want := func(what string, want time.Duration) {
			t.Helper()
			if got := m.Behind(); got != want {
				t.Errorf("%s: behind by %v, want %v", what, got, want)
			}
		}
		want("empty", 0)
		m.Post(1)
		time.Sleep(time.Second)
		m.Post(2)
		want("two items", time.Second)
		m.Take()
		time.Sleep(time.Second)
		m.Post(3)
		want("two taken and not handled", 2*time.Second)
		time.Sleep(time.Second)
		m.Handled()
		want("two handled", time.Second)
	})
}
