package traffic

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"k8s.io/client-go/kubernetes"

	"github.com/lifepod/lifepod/cluster/e2e/instance"
	"github.com/lifepod/lifepod/e2e/machine"
	"github.com/lifepod/lifepod/internal/assert"
)

var (
	up     *instance.Instance
	client kubernetes.Interface
)

// patience is how long anything may take before a test gives up.
var patience = machine.Patience

func TestMain(m *testing.M) {
	instance.Suite("../../..", instance.Config{}, func(i *instance.Instance, c kubernetes.Interface) int {
		up, client = i, c
		return m.Run()
	})
}

// apply applies manifests, and removes what they made when the test ends.
func apply(t *testing.T, manifests string) {
	t.Helper()
	kubectl(t, manifests, "apply", "-f", "-")
	t.Cleanup(func() {
		out, err := up.Kubectl(context.Background(), manifests, "delete", "--wait=false", "--ignore-not-found", "-f", "-")
		assert.True(t, err == nil, "%v %s", err, out)
	})
}

func kubectl(t *testing.T, input string, args ...string) string {
	t.Helper()
	ctx := assert.Context(t, patience)
	out := assert.Get(up.Kubectl(ctx, input, args...)).Must(t)
	return strings.TrimSpace(out)
}

// serving is a Deployment of two pods that answer with their names, ready on demand.
func serving(name string) string {
	return fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: %[1]s}
spec:
  replicas: 2
  selector: {matchLabels: {app: %[1]s}}
  strategy: {rollingUpdate: {maxUnavailable: 0, maxSurge: 1}}
  template:
    metadata: {labels: {app: %[1]s}}
    spec:
      terminationGracePeriodSeconds: 30
      containers:
      - name: web
        image: lifepod.dev/toolbox:1
        command: [serve, --port, "8080"]
        ports: [{name: http, containerPort: 8080}]
        readinessProbe: {httpGet: {path: /readyz, port: http}, periodSeconds: 1, failureThreshold: 1, timeoutSeconds: 20}
        lifecycle: {preStop: {sleep: {seconds: 5}}}
        resources: {limits: {memory: 64Mi}}
`, name)
}

// service is one to a Deployment, with further fields.
func service(name, app, fields string) string {
	return fmt.Sprintf(`
---
apiVersion: v1
kind: Service
metadata: {name: %s}
spec: {selector: {app: %s}, ports: [{name: http, port: 80, targetPort: http}], %s}
`, name, app, fields)
}

func awaitRollout(t *testing.T, name string) {
	t.Helper()
	kubectl(t, "", "rollout", "status", "deployment/"+name, "--timeout", patience.String())
}

// field is of a Service.
func field(t *testing.T, name, path string) string {
	t.Helper()
	return kubectl(t, "", "get", "service", name, "-o", "jsonpath={"+path+"}")
}

func clusterIP(t *testing.T, name string) string { return field(t, name, ".spec.clusterIP") }

// nodeIP is an address of this machine where node ports are.
func nodeIP(t *testing.T) string {
	t.Helper()
	return kubectl(t, "", "get", "node", instance.Node, "-o", `jsonpath={.status.addresses[?(@.type=="InternalIP")].address}`)
}

// tables are the nftables tables of services on this machine.
func tables(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("nft", "list", "tables", "ip").CombinedOutput()
	assert.Require(t, err == nil, "%v: %s", err, out)
	return string(out)
}
