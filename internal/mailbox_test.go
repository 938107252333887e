package internal_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/internal/mailbox"
)

// Items leave the mailbox in the order in which they came, whatever is taken meanwhile (A-SYNC-2).
func TestMailboxOrder(t *testing.T) {
	m := mailbox.New[int]()
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
	assert.Deep(t, "items", want, got)
	select {
	case <-m.Ready():
		t.Error("an empty mailbox is ready")
	default:
	}
}

// Behind tells how long the oldest item has waited, also while it is being handled.
func TestMailboxBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := mailbox.New[int]()
		want := func(what string, want time.Duration) {
			t.Helper()
			assert.Equal(t, want, m.Behind(), "%s: behind by", what)
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

// Who counts is told of all items that are not handled, and of none any more after Close.
func TestMailboxCount(t *testing.T) {
	m, open := mailbox.New[int](), 0
	m.Count(func(change int) { open += change })
	want := func(what string, want int) {
		t.Helper()
		assert.Equal(t, want, open, "%s: items", what)
	}
	m.Post(1)
	m.Post(2)
	want("two posted", 2)
	m.Take()
	m.Post(3)
	want("two taken, one posted", 3)
	m.Handled()
	want("two handled", 1)
	m.Take()
	m.Post(4)
	m.Close()
	want("closed", 0)
	m.Post(5)
	m.Handled()
	want("posted after that", 0)
}
