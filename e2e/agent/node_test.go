package agent

import (
	"testing"

	"github.com/lifepod/lifepod/e2e/member"
	"github.com/lifepod/lifepod/internal/assert"
)

// newNode is a node for one test alone, ready, which it may kill. When the test
// ends, nothing may be left of it.
func newNode(t *testing.T, config member.Config) *member.Member {
	t.Helper()
	config.Plane = plane
	if config.Program == "" {
		config.Program = binary
	}
	node := assert.Get(member.Start(t.Context(), config)).Must(t)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the end of the log of %s:\n%s", node.Name, node.Process().LastLines(40))
		}
		assert.NoError(t, node.Close())
	})
	assert.Must(t, node.AwaitReady(t.Context()))
	return node
}
