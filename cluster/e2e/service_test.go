package e2e

import (
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/lifepod/lifepod/cluster/e2e/instance"
	"github.com/lifepod/lifepod/internal/assert"
)

// TestServiceOfSystemd: systemd is told once that the service is ready, and again and again
// that it is alive. Kubernetes' API server would tell the first too early, and then keep
// everybody from telling the second, so that the watchdog ends lifepod every minute.
func TestServiceOfSystemd(t *testing.T) {
	t.Parallel()
	systemd := assert.Get(net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(t.TempDir(), "notify"), Net: "unixgram"})).Must(t)
	t.Cleanup(func() { _ = systemd.Close() })
	heard := make(chan string, 1000) // more than one start takes: systemd keeps nobody waiting
	go func() {
		for text := make([]byte, 256); ; {
			n, err := systemd.Read(text)
			if err != nil {
				return
			}
			heard <- string(text[:n])
		}
	}()
	answers := map[string]int{}
	next := func() {
		t.Helper()
		select {
		case text := <-heard:
			answers[text]++
		case <-time.After(patience):
			t.Fatalf("systemd hears nothing more than %v", answers)
		}
	}
	service := ownInstance(t, instance.Config{Env: []string{"NOTIFY_SOCKET=" + systemd.LocalAddr().String(), "WATCHDOG_USEC=3000000"}})
	for answers["READY=1"] == 0 {
		next()
	}
	for before := answers["WATCHDOG=1"]; answers["WATCHDOG=1"] < before+2; {
		next()
	}
	service.Stop()
	for answers["STOPPING=1"] == 0 {
		next()
	}
	assert.True(t, answers["READY=1"] == 1, "systemd was told %v", answers)
}
