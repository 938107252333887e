package proxy

import (
	"os"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/lifepod/lifepod/internal/assert"
)

// TestTracksConnections: the kernel's times are kube-proxy's then.
func TestTracksConnections(t *testing.T) {
	runtime.LockOSThread() // for good: the thread, and its network, end with the test
	assert.Must(t, unix.Unshare(unix.CLONE_NEWNET))
	for range 2 {
		assert.Must(t, trackConnections(t.Context()))
		for name, want := range map[string]string{"established": "86400", "close_wait": "3600"} {
			got, err := os.ReadFile("/proc/sys/net/netfilter/nf_conntrack_tcp_timeout_" + name)
			assert.True(t, err == nil && strings.TrimSpace(string(got)) == want, "%s: %s, %v, want %s", name, got, err, want)
		}
	}
}
