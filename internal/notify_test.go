package internal_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/coreos/go-systemd/v22/daemon"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/internal/notify"
)

// listen is systemd's side of the socket.
func listenAsSystemd(t *testing.T) (next func() string) {
	path := filepath.Join(t.TempDir(), "notify")
	conn := assert.Get(net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})).Must(t)
	t.Cleanup(func() { _ = conn.Close() })
	t.Setenv("NOTIFY_SOCKET", path)
	return func() string {
		text := make([]byte, 256)
		n := assert.Get(conn.Read(text)).Must(t)
		return string(text[:n])
	}
}

var discard = slog.New(slog.DiscardHandler)

// Nobody else in the process speaks to systemd: Kubernetes' API server does, if it can.
func TestNotifyTake(t *testing.T) {
	next := listenAsSystemd(t)
	t.Setenv("WATCHDOG_USEC", "3000000")
	t.Setenv("WATCHDOG_PID", strconv.Itoa(os.Getpid()))
	service := notify.Take(discard)
	sent, err := daemon.SdNotify(true, daemon.SdNotifyReady)
	assert.True(t, !sent && err == nil, "another has told systemd something: %t, %v", sent, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	service.Watch(ctx, func() error { return nil }, discard)
	assert.Equal(t, "WATCHDOG=1", next(), "told")
}

// What is told of a service: that it has begun, and that it is ending.
func TestNotifyReadyAndStopping(t *testing.T) {
	next := listenAsSystemd(t)
	ctx, cancel := context.WithCancel(t.Context())
	notify.Take(discard).Ready(ctx)
	assert.Equal(t, "READY=1", next(), "told")
	cancel()
	assert.Equal(t, "STOPPING=1", next(), "told")
}

// The watchdog hears of the service while it is alive, and of nothing while it is not: each
// look that was well is reported once.
func TestNotifyWatch(t *testing.T) {
	next := listenAsSystemd(t)
	t.Setenv("WATCHDOG_USEC", "3000")
	t.Setenv("WATCHDOG_PID", strconv.Itoa(os.Getpid()))
	ctx, cancel := context.WithCancel(t.Context())
	service := notify.Take(discard)
	health, ended := make(chan error), make(chan struct{})
	go func() {
		defer close(ended)
		service.Watch(ctx, func() error { return <-health }, discard)
	}()
	health <- nil
	assert.Equal(t, "WATCHDOG=1", next(), "told")
	for range 3 {
		health <- errors.New("pod default/web has not been gone on with for 5m0s")
	}
	health <- nil // what was before has been dealt with
	assert.Equal(t, "WATCHDOG=1", next(), "told")
	cancel()
	select {
	case health <- errors.New("the last look"):
	case <-ended:
	}
	<-ended
	service.Ready(t.Context())
	got := next()
	assert.True(t, got == "READY=1", "told %q while the service was not alive", got)
}

// A service whose unit has no watchdog has nothing to tell.
func TestNotifyNoWatchdog(t *testing.T) {
	t.Setenv("WATCHDOG_USEC", "")
	notify.Take(discard).Watch(t.Context(), func() error { panic("asked") }, discard)
}
