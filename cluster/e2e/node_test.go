package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifepod/lifepod/cluster/e2e/instance"
	"github.com/lifepod/lifepod/e2e/machine"
	"github.com/lifepod/lifepod/internal/assert"
)

// ownInstance starts a cluster beside the one that tests share.
func ownInstance(t *testing.T, c instance.Config) *instance.Instance {
	t.Helper()
	listen := assert.Get(freeAddress()).Must(t)
	c.Program, c.Args = up.Program, append(c.Args, "--listen", listen)
	return instance.New(t, c)
}

// do runs kubectl on a cluster of a test's own.
func do(t *testing.T, i *instance.Instance, input string, args ...string) string {
	t.Helper()
	ctx := assert.Context(t, patience)
	out := assert.Get(i.Kubectl(ctx, input, args...)).Must(t)
	return strings.TrimSpace(out)
}

const handler = `
[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.test-handler]
runtime_type = 'io.containerd.runc.v2'
`

const kubelet = instance.Configuration + "maxPods: 17\n"

const runtimeClass = `
apiVersion: node.k8s.io/v1
kind: RuntimeClass
metadata: {name: preconfigured}
handler: test-handler
`

// A node has what its configuration, its flags and a drop-in of containerd say, and
// keeps its name and pods when it is started without it.
func TestNodeOfOnesOwn(t *testing.T) {
	t.Parallel()
	root, port := ownRoot(t), freePort(t)
	file := filepath.Join(t.TempDir(), "kubelet.yaml")
	for path, text := range map[string]string{filepath.Join(root, "containerd.d", "test-handler.toml"): handler, file: kubelet} {
		assert.Must(t, os.MkdirAll(filepath.Dir(path), 0o700))
		assert.Must(t, os.WriteFile(path, []byte(text), 0o600))
	}
	i := ownInstance(t, instance.Config{Root: root, Name: "first", Args: []string{
		"--config", file, "--port", fmt.Sprint(port), "--feature-gates", "PodLogsQuerySplitStreams=true",
	}})
	do(t, i, runtimeClass+podOf("pod", podSpec("echo out; echo err >&2; exec sleep --on-term 0 1h", "runtimeClassName: preconfigured")), "apply", "-f", "-")
	do(t, i, "", "wait", "pod/pod", "--for=condition=Ready", "--timeout="+patience.String())
	got := do(t, i, "", "get", "node", "first", "-o", "jsonpath={.status.capacity.pods} {.status.daemonEndpoints.kubeletEndpoint.Port} {.status.runtimeHandlers[*].name}")
	assert.Deep(t, "pods, port, handlers", fmt.Sprintf("17 %d  runc test-handler", port), got)
	client := assert.Get(i.Client()).Must(t)
	log, err := client.CoreV1().Pods("default").GetLogs("pod", &core.PodLogOptions{Stream: new(core.LogStreamStderr)}).DoRaw(t.Context())
	assert.True(t, string(log) == "err\n", "the log of stderr is %q (%v)", log, err)
	before := do(t, i, "", "get", "pod", "pod", "-o", "jsonpath={.metadata.uid} {.status.containerStatuses[0].containerID}")
	watching := assert.Get(client.CoreV1().Pods("").Watch(t.Context(), meta.ListOptions{})).Must(t)
	defer watching.Stop()
	began := time.Now()
	i.Stop()
	took := time.Since(began)
	assert.True(t, took <= 30*time.Second, "it took %v to end while it was watched", took)
	out := refusedUp(t, root, "--node-name", "second")
	assert.True(t, strings.Contains(out, "--node-name second: this machine's node is called first ("), "another name: %s", out)
	i.Unnamed = true
	assert.Must(t, i.Run(t.Context()))
	do(t, i, podOf("new", podSpec("exec sleep --on-term 0 1h")), "apply", "-f", "-")
	do(t, i, "", "wait", "pod/new", "--for=condition=Ready", "--timeout="+patience.String())
	after := do(t, i, "", "get", "pod", "pod", "-o", "jsonpath={.metadata.uid} {.status.containerStatuses[0].containerID}")
	assert.Deep(t, "the pod", before, after)
	nodes := do(t, i, "", "get", "nodes", "-o", "name")
	assert.True(t, nodes == "node/first", "the nodes are %s, want the first only", nodes)
}

func freePort(t *testing.T) int {
	t.Helper()
	port := assert.Get(machine.FreePort()).Must(t)
	return port
}

// refusedUp is what a lifepod up says that does not begin.
func refusedUp(t *testing.T, root string, args ...string) string {
	t.Helper()
	a := lifepod(t, root, append([]string{"up"}, args...)...)
	assert.Deep(t, fmt.Sprintf("up %v: exit code", args), 125, a.code)
	return a.complaint
}
