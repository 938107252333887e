package groups

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/lifecycle"
)

var _ = strings.Cut
var _ = synctest.Wait
var _ = assert.Must
var _ lifecycle.GroupSeen

// TestDirect: members start, and restart, as one by what their nodes report to the first one's, also while the API server
// takes no annotations (B-GRP-24, B-GRP-26).
func TestDirect(t *testing.T) {
	crowds(t, func(c *crowd) {
		for _, name := range []string{"a", "b", "c", "d"} {
			c.add(name, 4)
		}
		c.wants("at first", 0, 10*time.Second)
		c.modes("B-GRP-28: all report", true, 10*time.Second)
		c.deaf = true
		c.nodes["node-c"].fails()
		c.wants("B-GRP-26: before pods show it", 1, time.Second)
		c.nodes["node-a"].fails()
		c.wants("again", 2, time.Second)
	})
}
