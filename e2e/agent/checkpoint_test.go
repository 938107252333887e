package agent

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
)

// TestCheckpoint: the node asks its runtime for a checkpoint, and passes on what becomes of
// it: without CRIU, which the carried runtime does not have, that it can't (A-NODE-7).
func TestCheckpoint(t *testing.T) {
	t.Parallel()
	c := newCluster(t, shared)
	c.create(modest)
	pod := c.awaitReady("modest")
	ask := func(container string) string {
		path := fmt.Sprintf("/api/v1/nodes/%s/proxy/checkpoint/%s/modest/%s", shared.Name, c.namespace, container)
		out, err := plane.Kubectl(t.Context(), "{}", "create", "--raw", path, "--filename=-")
		return fmt.Sprint(out, err)
	}
	name := pod.Spec.Containers[0].Name
	if got, want := ask(name), fmt.Sprintf("checkpointing of %s/modest/%s failed (", c.namespace, name); !strings.Contains(got, want) || !strings.Contains(got, "criu") {
		t.Errorf("A-NODE-7 answer %s, want %s… criu", got, want)
	}
	got := ask("none")
	assert.True(t, strings.Contains(got, "NotFound"), "A-NODE-7 answer %s", got)
}
