// Package metricsserver runs a real metrics-server beside a cluster: kubectl top and autoscalers ask it.
package metricsserver

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lifepod/lifepod/e2e/machine"
	"github.com/lifepod/lifepod/internal/assert"
)

// manifest is its Service, without a selector, and its place in the API.
const manifest = `
apiVersion: v1
kind: Service
metadata: {name: metrics-server, namespace: kube-system}
spec:
  ports: [{port: 443, targetPort: PORT}]
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: metrics-server, namespace: kube-system, labels: {kubernetes.io/service-name: metrics-server}}
addressType: IPv4
endpoints: [{addresses: [ADDRESS]}]
ports: [{port: PORT}]
---
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1beta1.metrics.k8s.io}
spec:
  service: {name: metrics-server, namespace: kube-system, port: 443}
  group: metrics.k8s.io
  version: v1beta1
  insecureSkipTLSVerify: true
  groupPriorityMinimum: 100
  versionPriority: 100
`

// Cluster is what a metrics-server has to know of one.
type Cluster struct {
	Program    string // the path of metrics-server
	Kubeconfig string
	Nodes      string // a selector of the nodes that it asks; empty: all
	Address    string // of this machine, as the API server reaches it
	Kubectl    func(ctx context.Context, input string, args ...string) (string, error)
}

// Start runs one for as long as the test. It is in the API only while it answers: namespaces can't be deleted while a
// part of the API is missing.
func Start(t *testing.T, c Cluster) {
	t.Helper()
	_, err := os.Stat(c.Program)
	assert.Require(t, err == nil, "%v: run `make metrics-server` first", err)
	port := assert.Get(machine.FreePort()).Must(t)
	dir := t.TempDir()
	process := assert.Get(machine.StartProcess(exec.Command(c.Program,
		"--kubeconfig="+c.Kubeconfig, "--authentication-kubeconfig="+c.Kubeconfig, "--authorization-kubeconfig="+c.Kubeconfig,
		"--secure-port="+strconv.Itoa(port), "--cert-dir="+dir, "--kubelet-insecure-tls", "--kubelet-use-node-status-port",
		"--kubelet-preferred-address-types=InternalIP", "--metric-resolution=10s", "--kubelet-request-timeout=9s", "--node-selector="+c.Nodes,
	), filepath.Join(dir, "log"))).Must(t)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the end of metrics-server's log:\n%s", process.LastLines(30))
		}
		assert.NoError(t, process.Kill())
	})
	awaitLive(t, process, port)
	text := strings.NewReplacer("PORT", strconv.Itoa(port), "ADDRESS", c.Address).Replace(manifest)
	t.Cleanup(func() {
		assert.NoError(t, assert.ErrorOf(c.Kubectl(context.Background(), text, "delete", "--filename=-")))
	})
	assert.Must(t, assert.ErrorOf(c.Kubectl(t.Context(), text, "apply", "--filename=-")))
}

// awaitLive waits until metrics-server answers.
func awaitLive(t *testing.T, process *machine.Process, port int) {
	t.Helper()
	browser := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}} //nolint:gosec // a test's own server
	for ctx := t.Context(); ; {
		response, err := browser.Get(fmt.Sprintf("https://127.0.0.1:%d/livez", port))
		if err == nil {
			_ = response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return
			}
		}
		select {
		case <-process.Ended():
			t.Fatal("metrics-server has ended")
		case <-ctx.Done():
			t.Fatal(ctx.Err())
		case <-time.After(50 * time.Millisecond): // it tells nobody
		}
	}
}
