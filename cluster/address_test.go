package cluster

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
)

// TestRefusedListenIsNotRemembered: the next start without --listen has not the port
// of one that was refused.
func TestRefusedListenIsNotRemembered(t *testing.T) {
	l := assert.Get(Config{Root: t.TempDir(), Listen: "127.0.0.1:0"}.layout()).Must(t)
	assert.Must(t, os.MkdirAll(l.file(""), 0o700))
	for listen, want := range map[string]string{
		"127.0.0.1:0": "want ADDRESS:PORT", "nowhere": "want ADDRESS:PORT", "127.0.0.1:47531": "on a loopback address",
	} {
		l.Listen = listen
		err := l.chooseListen(t.Context())
		assert.True(t, err != nil && strings.Contains(err.Error(), want), "--listen %s: %v, want %q", listen, err, want)
	}
	assert.ErrorIs(t, fs.ErrNotExist, assert.ErrorOf(os.Stat(l.file("ports.json"))), "ports.json after refusals")
}

// A port that one lifepod has chosen is no other's, though nobody listens there yet.
func TestPortsAreKept(t *testing.T) {
	const first = 23450
	var a, b layout
	one := assert.Get(a.port(net.IPv4zero, 0, first)).Must(t)
	two, err := b.port(net.IPv4zero, 0, first)
	assert.True(t, err == nil && two != one, "the second has port %d, %v, want another than %d", two, err, one)
	_, err = b.port(net.IPv4zero, one, first)
	assert.True(t, errors.Is(err, syscall.EADDRINUSE), "port %d for the second: %v, want that it is in use", one, err)
	for _, kept := range a.kept {
		assert.Must(t, kept.Close())
	}
	_, err = b.port(net.IPv4zero, one, first)
	assert.True(t, err == nil, "port %d when the first has ended: %v", one, err)
	for _, kept := range b.kept {
		assert.Must(t, kept.Close())
	}
}
