package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lifepod/lifepod/cluster/e2e/instance"
	"github.com/lifepod/lifepod/internal/assert"
)

const hello = `
apiVersion: lifepod.dev/v1alpha1
kind: Scenario
containers: {main: {runs: [{run: forever, output: [{text: hello}]}]}}
`

// Nodes of the cluster without machines are in the process of lifepod up, and their pods' logs can be asked for. The next
// start has the number that its flag says, and deletes the others.
func TestSimulatedNodes(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "hello.yaml")
	assert.Must(t, os.WriteFile(file, []byte(hello), 0o600))
	without := []string{"--disable", "node,services,routes,dns,volumes,folder-volumes,snapshots"}
	i := ownInstance(t, instance.Config{Args: slices.Concat(without, []string{"--simulated-nodes", "2", "--simulated-scenario", file})})
	do(t, i, "", "wait", "node/simulated-0", "node/simulated-1", "--for=create", "--timeout="+patience.String())
	do(t, i, "", "wait", "node", "--all", "--for=condition=Ready", "--timeout="+patience.String())
	do(t, i, podOf("pod", podSpec("exec sleep 1h", "nodeName: simulated-0")), "apply", "-f", "-")
	do(t, i, "", "wait", "pod/pod", "--for=condition=Ready", "--timeout="+patience.String())
	assert.Deep(t, "the log is", "hello", do(t, i, "", "logs", "pod"))
	out, err := i.Kubectl(t.Context(), "", "exec", "pod", "--", "true")
	assert.True(t, err != nil && strings.Contains(err.Error(), "pods on simulated nodes have no processes"), "exec: %q, %v", out, err)
	i.Stop()
	i.Args = slices.Concat(without, []string{"--simulated-nodes", "1", "--listen", i.Args[len(i.Args)-1]})
	assert.Must(t, i.Run(t.Context()))
	do(t, i, "", "wait", "node/simulated-1", "--for=delete", "--timeout="+patience.String())
	do(t, i, "", "wait", "node/simulated-0", "pod/pod", "--for=condition=Ready", "--timeout="+patience.String())
	nodes := do(t, i, "", "get", "nodes", "-o", "name")
	assert.True(t, nodes == "node/simulated-0", "the nodes are %s, want the first only", nodes)
	for flags, want := range map[string]string{
		"--simulated-nodes -1": "--simulated-nodes -1: want 0 to 5000", "--simulated-scenario " + file: "want --simulated-nodes, too",
		"--simulated-nodes 1 --simulated-speed 0": "--simulated-speed 0: want a number above 0, at most 1000",
		"--simulated-speed 60":                    "--simulated-speed: want --simulated-nodes, too",
	} {
		out := refusedUp(t, ownRoot(t), strings.Fields(flags)...)
		assert.True(t, strings.Contains(out, want), "%s: %s", flags, out)
	}
}
