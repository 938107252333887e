package agent

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

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifepod/lifepod/e2e/machine"
)

// TestTop: a real metrics-server reads the node, and kubectl top shows it and its
// pods.
func TestTop(t *testing.T) {
	t.Parallel()
	c := newCluster(t, shared)
	c.create(busy)
	c.awaitReady("busy")
	startMetricsServer(t)
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
		if fmt.Sprint(lines) != fmt.Sprint(want.lines) {
			t.Errorf("kubectl %v: %q, want lines of %q", want.args, out, want.lines)
		}
	}
}

// awaitKubectl repeats a command until it works: metrics-server tells of what it
// has scraped twice only.
func (c *cluster) awaitKubectl(args ...string) string {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	defer cancel()
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

// metricsServer is its Service, without a selector, and its place in the API.
const metricsServer = `
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

// startMetricsServer runs one for as long as the test. It is in the API only while
// it answers: namespaces can't be deleted while a part of the API is missing.
func startMetricsServer(t *testing.T) {
	t.Helper()
	program := plane.Binary("metrics-server")
	if _, err := os.Stat(program); err != nil {
		t.Fatalf("%v: run `make metrics-server` first", err)
	}
	port, err := machine.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	process, err := machine.StartProcess(exec.Command(program,
		"--kubeconfig="+plane.Kubeconfig(), "--authentication-kubeconfig="+plane.Kubeconfig(), "--authorization-kubeconfig="+plane.Kubeconfig(),
		"--secure-port="+strconv.Itoa(port), "--cert-dir="+dir, "--kubelet-insecure-tls", "--kubelet-use-node-status-port",
		"--kubelet-preferred-address-types=InternalIP", "--metric-resolution=10s", "--kubelet-request-timeout=9s",
		"--node-selector="+v1.LabelHostname+"="+shared.Name,
	), filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the end of metrics-server's log:\n%s", process.LastLines(30))
		}
		if err := process.Kill(); err != nil {
			t.Error(err)
		}
	})
	awaitLive(t, process, port)
	manifest := strings.NewReplacer("PORT", strconv.Itoa(port), "ADDRESS", nodeAddress(t)).Replace(metricsServer)
	t.Cleanup(func() {
		if _, err := plane.Kubectl(context.Background(), manifest, "delete", "--filename=-"); err != nil {
			t.Error(err)
		}
	})
	if _, err := plane.Kubectl(t.Context(), manifest, "apply", "--filename=-"); err != nil {
		t.Fatal(err)
	}
}

// awaitLive waits until metrics-server answers.
func awaitLive(t *testing.T, process *machine.Process, port int) {
	t.Helper()
	browser := insecure()
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

// insecure is a client that trusts every server.
func insecure() *http.Client {
	return &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}} //nolint:gosec // a test's own server
}

// nodeAddress is where the machine can be reached.
func nodeAddress(t *testing.T) string {
	t.Helper()
	node, err := client.CoreV1().Nodes().Get(t.Context(), shared.Name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range node.Status.Addresses {
		if a.Type == v1.NodeInternalIP {
			return a.Address
		}
	}
	t.Fatalf("the node has no address: %v", node.Status.Addresses)
	return ""
}
