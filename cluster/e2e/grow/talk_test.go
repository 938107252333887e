package grow

import (
	"context"
	"net"
	"strings"
	"testing"

	"github.com/lifepod/lifepod/cluster/e2e/instance"
	"github.com/lifepod/lifepod/e2e/machine"
	"github.com/lifepod/lifepod/internal/assert"
)

// talkers are a pod on each node, each with a Service of its name; they stay where
// they are when a node is cut off.
const talkers = `
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: Pod
  metadata: {name: on-n1, labels: {talker: on-n1}}
  spec: {nodeName: n1, terminationGracePeriodSeconds: 1, tolerations: &stays [{operator: Exists}], containers: &serve [{
    name: c, image: "lifepod.dev/toolbox:1", command: [serve, --port, "8080"], resources: {limits: {memory: 32Mi}}}]}
- {apiVersion: v1, kind: Pod, metadata: {name: on-n2, labels: {talker: on-n2}},
   spec: {nodeName: n2, terminationGracePeriodSeconds: 1, tolerations: *stays, containers: *serve}}
- {apiVersion: v1, kind: Service, metadata: {name: to-n1}, spec: {selector: {talker: on-n1}, ports: [{port: 80, targetPort: 8080}]}}
- {apiVersion: v1, kind: Service, metadata: {name: to-n2}, spec: {selector: {talker: on-n2}, ports: [{port: 80, targetPort: 8080}]}}
`

// talk: pods of both nodes reach each other by address, by a Service's address and by
// its name.
func talk(ctx context.Context, t *testing.T, c *instance.Instance) {
	t.Helper()
	assert.Must(t, assert.ErrorOf(c.Kubectl(ctx, talkers, "apply", "-f", "-")))
	field := func(kind, name, path string) (value string) {
		t.Helper()
		machine.Until(t, path+" of "+kind+" "+name, func() bool {
			var err error
			value, err = c.Kubectl(ctx, "", "get", kind, name, "-o", "jsonpath={"+path+"}")
			return err == nil && value != ""
		})
		return value
	}
	for from, to := range map[string]string{"on-n1": "n2", "on-n2": "n1"} {
		for _, url := range []string{
			"http://" + net.JoinHostPort(field("pod", "on-"+to, ".status.podIP"), "8080"),
			"http://" + field("service", "to-"+to, ".spec.clusterIP"),
			"http://to-" + to + ".default.svc.cluster.local",
		} {
			machine.Until(t, from+" to reach "+url, func() bool {
				out, err := c.Kubectl(ctx, "", "exec", from, "--", "fetch", url)
				return err == nil && out == "on-"+to+"\n"
			})
		}
	}
}

// confined: containers that name no seccomp profile run under the runtime's default one on
// both nodes (A-SEC-4).
func confined(ctx context.Context, t *testing.T, c *instance.Instance) {
	t.Helper()
	for _, pod := range []string{"on-n1", "on-n2"} {
		out, err := c.Kubectl(ctx, "", "exec", pod, "--", "cat", "/proc/1/status")
		assert.True(t, err == nil && strings.Contains(out, "\nSeccomp:\t2\n"), "pod %s is not confined by a seccomp filter: %v\n%s", pod, err, out)
	}
}
