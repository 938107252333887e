package logindtest

import (
	"testing"
	"time"

	"github.com/lifepod/lifepod/internal/assert"
)

// NewBus is a bus that ends with the test.
func NewBus(t testing.TB) *Bus {
	t.Helper()
	b, err := open(t.TempDir())
	assert.Must(t, err)
	t.Cleanup(b.Stop)
	return b
}

// NewLogind is a logind on a bus until the end of the test.
func NewLogind(t testing.TB, b *Bus, delay time.Duration) *Logind {
	t.Helper()
	l, err := b.openLogind(delay)
	assert.Must(t, err)
	t.Cleanup(l.Close)
	return l
}
