package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
)

// TestRuntimeEndpoint runs a pod on a runtime that somebody else runs: here the
// containerd of another root, which is up because a pod runs there.
func TestRuntimeEndpoint(t *testing.T) {
	t.Parallel()
	host, guest := newRoot(t), newRoot(t)
	other := host.startRun(t, pod("other", `
containers:
- {name: main, image: TOOLBOX, command: [sleep, infinity]}`))
	other.await(other.stderr, "main started")

	// a runtime that somebody else runs keeps its own books about addresses
	t.Cleanup(func() { host.forgetAddresses(t) })
	endpoint := "unix://" + host.runDir() + "/containerd.sock"
	got := guest.run(t, script("guest", "echo on $(hostname); exit 4"), "--runtime-endpoint", endpoint)
	got.want(t, 4, "on guest\n")
}

// TestRuntimeEndpointRefused: an endpoint without a runtime is one clear error.
func TestRuntimeEndpointRefused(t *testing.T) {
	t.Parallel()
	for endpoint, want := range map[string]string{
		"unix:///nowhere.sock": "no container runtime answers there",
		"/nowhere.sock":        "want unix:///path/to/socket",
	} {
		got := shared.run(t, script("p", "true"), "--runtime-endpoint", endpoint)
		assert.True(t, got.code == 125 && strings.Contains(got.stderr, want) && strings.Count(got.stderr, "\n") == 1,
			"%s: code %d, stderr %q, want 125 and one line with %q", endpoint, got.code, got.stderr, want)
	}
}

// forgetAddresses releases all addresses of a root, as its owner would.
func (r *root) forgetAddresses(t *testing.T) {
	t.Helper()
	records := assert.Get(filepath.Glob(r.dir + "/ipam/pods/*")).Must(t)
	for _, record := range records {
		assert.NoError(t, os.Remove(record))
	}
}
