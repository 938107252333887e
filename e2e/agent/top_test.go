package agent

import (
	"fmt"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifepod/lifepod/e2e/metricsserver"
	"github.com/lifepod/lifepod/internal/assert"
)

// TestTop: a real metrics-server reads the node, and kubectl top shows it and its
// pods.
func TestTop(t *testing.T) {
	t.Parallel()
	c := newCluster(t, shared)
	c.create(busy)
	c.awaitReady("busy")
	metricsserver.Start(t, metricsserver.Cluster{
		Program: plane.Binary("metrics-server"), Kubeconfig: plane.Kubeconfig(), Nodes: v1.LabelHostname + "=" + shared.Name, Address: nodeAddress(t), Kubectl: plane.Kubectl,
	})
	for _, want := range []struct {
		args  []string
		lines []string
	}{
		{[]string{"top", "node", shared.Name, "--no-headers"}, []string{shared.Name}},
		{[]string{"top", "pod", "busy", "--no-headers"}, []string{"busy"}},
		{[]string{"top", "pod", "busy", "--no-headers", "--containers"}, []string{"busy main", "busy side"}},
	} {
		out := c.awaitKubectl(want.args...)
		var lines []string
		for line := range strings.Lines(out) {
			fields := strings.Fields(line)
			if len(fields) < 3 || strings.HasPrefix(fields[len(fields)-1], "0") {
				t.Errorf("kubectl %v: no memory in %q", want.args, line)
				continue
			}
			lines = append(lines, strings.Join(fields[:len(strings.Fields(want.lines[0]))], " "))
		}
		assert.True(t, fmt.Sprint(lines) == fmt.Sprint(want.lines), "kubectl %v: %q, want lines of %q", want.args, out, want.lines)
	}
}

// awaitKubectl repeats a command until it works: metrics-server tells of what it
// has scraped twice only.
func (c *cluster) awaitKubectl(args ...string) string {
	c.t.Helper()
	ctx := assert.Context(c.t, patience)
	for {
		out, err := plane.Kubectl(ctx, "", append([]string{"--namespace", c.namespace}, args...)...)
		if err == nil {
			return out
		}
		select {
		case <-ctx.Done():
			c.t.Fatal(err)
		case <-time.After(200 * time.Millisecond): // it tells nobody
		}
	}
}

// nodeAddress is where the machine can be reached.
func nodeAddress(t *testing.T) string {
	t.Helper()
	node := assert.Get(client.CoreV1().Nodes().Get(t.Context(), shared.Name, metav1.GetOptions{})).Must(t)
	for _, a := range node.Status.Addresses {
		if a.Type == v1.NodeInternalIP {
			return a.Address
		}
	}
	t.Fatalf("the node has no address: %v", node.Status.Addresses)
	return ""
}
