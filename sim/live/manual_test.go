package live

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lifepod/lifepod/internal/assert"
)

// What is due comes in its order, and what follows from it comes in between; settle comes once before each time.
func TestAdvance(t *testing.T) {
	m := NewManual()
	begin := m.Now()
	var got []string
	is := func(what string) func() {
		return func() { got = append(got, m.Now().Sub(begin).String()+" "+what) }
	}
	m.AfterFunc(2*time.Second, is("third"))
	first := m.AfterFunc(time.Second, func() {
		is("first")()
		m.AfterFunc(time.Second/2, is("second"))
	})
	m.AfterFunc(2*time.Second, is("fourth"))
	m.AfterFunc(2*time.Second, is("stopped")).Stop()
	m.AfterFunc(time.Second, is("late")).Reset(time.Hour)
	settle := func() error { is("settle")(); return nil }
	assert.Must(t, m.Advance(time.Second/2, settle))
	assert.Must(t, m.Advance(5*time.Second, settle))
	want := []string{"0s settle", "500ms settle", "1s first", "1s settle", "1.5s second", "1.5s settle", "2s third", "2s fourth", "2s settle"}
	assert.Deep(t, "", want, got)
	assert.Deep(t, "after all it is", 5500*time.Millisecond, m.Now().Sub(begin))
	assert.True(t, !first.Stop(), "a timer that has come is stopped")
	assert.ErrorContains(t, "time does not go back", m.Advance(-1, settle), "advance by -1")
}

// Time stays where it is if what is to be done there can't be.
func TestAdvanceFails(t *testing.T) {
	m := NewManual()
	begin, failed := m.Now(), errors.New("it failed")
	m.AfterFunc(time.Second, func() {})
	settle := func() error {
		if m.Now().Equal(begin) {
			return nil
		}
		return failed
	}
	err := m.Advance(time.Minute, settle)
	assert.True(t, errors.Is(err, failed) && m.Now().Sub(begin) == time.Second, "%v, %v after the begin", err, m.Now().Sub(begin))
}

// What is due at once is left to do until it is done.
func TestAwaitQuiet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewManual()
		done := false
		m.AfterFunc(0, func() {
			time.Sleep(time.Second)
			done = true
		})
		err := m.AwaitQuiet(t.Context())
		assert.True(t, err == nil && done, "done %v, %v", done, err)
		m.Busy(1)
		ctx := assert.Context(t, time.Minute)
		assert.ErrorIs(t, context.DeadlineExceeded, m.AwaitQuiet(ctx), "with something left to do")
	})
}
