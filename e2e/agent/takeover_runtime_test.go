package agent

import (
	"testing"

	"github.com/lifepod/lifepod/e2e/member"
	"github.com/lifepod/lifepod/internal/assert"
)

// startRuntime starts a container runtime that the programs of a node use one
// after the other. It ends with the test. The result is its endpoint.
func startRuntime(t *testing.T) string {
	t.Helper()
	runtime := assert.Get(member.StartRuntime(t.Context(), binary)).Must(t)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the end of the log of the runtime:\n%s", runtime.LastLines(20))
		}
		assert.NoError(t, runtime.Close())
	})
	return runtime.Endpoint()
}
