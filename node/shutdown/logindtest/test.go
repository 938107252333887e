package logindtest

import (
	"testing"
	"time"

	"github.com/lifepod/lifepod/internal/assert"
)

// NewBus is a bus that ends with the test.
func NewBus(t testing.TB) *Bus {
	t.Helper()
	b := assert.Get(open(t.TempDir())).Must(t)
	t.Cleanup(b.Stop)
	return b
}

// NewLogind is a logind on a bus until the end of the test.
func NewLogind(t testing.TB, b *Bus, delay time.Duration) *Logind {
	t.Helper()
	l := assert.Get(b.openLogind(delay)).Must(t)
	t.Cleanup(l.Close)
	return l
}
