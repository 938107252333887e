package simulated

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
)

// A scenario of nodes is held against the nodes that there will be, before anything starts.
func TestCheckScenarioOfNodes(t *testing.T) {
	file := filepath.Join(t.TempDir(), "nodes.yaml")
	const text = "apiVersion: lifepod.dev/v1alpha1\nkind: NodeScenario\nnodes:\n- names: simulated-2\n  slow: 2\n"
	assert.Must(t, os.WriteFile(file, []byte(text), 0o600))
	for _, c := range []struct {
		count int
		want  string // empty: it is right
	}{
		{0, "--simulated-node-scenario: want --simulated-nodes, too: it is about them"},
		{2, "--simulated-node-scenario: node scenario: " + file + ":4: nodes[0].names: no node has a name such as simulated-2; the nodes are simulated-0 to simulated-1"},
		{3, ""},
	} {
		err := Nodes{Count: c.count, Speed: 1, NodeScenario: file}.Check()
		assert.True(t, (err == nil) == (c.want == "") && (err == nil || strings.Contains(err.Error(), c.want)),
			"%d nodes: %v, want %q", c.count, err, c.want)
	}
}
