package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/lifepod/lifepod/cluster/e2e/instance"
	"github.com/lifepod/lifepod/e2e/machine"
)

// metricsServer is its Service and its place in the API.
const metricsServer = `
apiVersion: v1
kind: Service
metadata: {name: metrics-server, namespace: kube-system}
spec: {ports: [{port: 443, targetPort: PORT}]}
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

// startMetricsServer runs one beside the cluster for as long as the test.
func startMetricsServer(t *testing.T, address string) {
	t.Helper()
	program, err := filepath.Abs("../../.cache/controlplane/bin/metrics-server")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(program); err != nil {
		t.Fatalf("%v: run `make metrics-server` first", err)
	}
	port, err := machine.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	process, err := machine.StartProcess(exec.Command(program,
		"--kubeconfig="+up.Kubeconfig, "--authentication-kubeconfig="+up.Kubeconfig, "--authorization-kubeconfig="+up.Kubeconfig,
		"--secure-port="+strconv.Itoa(port), "--cert-dir="+dir, "--kubelet-insecure-tls", "--kubelet-use-node-status-port",
		"--kubelet-preferred-address-types=InternalIP", "--metric-resolution=10s", "--kubelet-request-timeout=9s",
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
	manifest := strings.NewReplacer("PORT", strconv.Itoa(port), "ADDRESS", address).Replace(metricsServer)
	// Namespaces can't be deleted while a part of the API is missing.
	t.Cleanup(func() {
		if _, err := up.Kubectl(context.Background(), manifest, "delete", "-f", "-"); err != nil {
			t.Error(err)
		}
	})
	if _, err := up.Kubectl(t.Context(), manifest, "apply", "-f", "-"); err != nil {
		t.Fatal(err)
	}
}

const autoscaler = `
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: grows}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: grows}
  minReplicas: 1
  maxReplicas: 2
  metrics: [{type: Resource, resource: {name: memory, target: {type: AverageValue, averageValue: 100Ki}}}]
`

// A Deployment that uses more than its HorizontalPodAutoscaler wants gets another pod;
// kubectl top shows what it uses.
func TestAutoscaling(t *testing.T) {
	t.Parallel()
	s := newSpace(t, nil)
	startMetricsServer(t, s.kubectl("get", "node", instance.Node, "-o", `jsonpath={.status.addresses[?(@.type=="InternalIP")].address}`))
	s.create(workload("apps/v1 Deployment", "grows", "replicas: 1", "exec sleep --on-term 0 1h") + autoscaler)
	s.wait("hpa/grows", "jsonpath={.status.desiredReplicas}=2")
	s.wait("deployment/grows", "jsonpath={.status.readyReplicas}=2")
	for _, args := range [][]string{{"top", "pods", "--no-headers"}, {"top", "node", instance.Node, "--no-headers"}} {
		if fields := strings.Fields(s.kubectl(args...)); len(fields) < 3 {
			t.Errorf("kubectl %v: %v, want figures", args, fields)
		}
	}
	// Its API is described together with Kubernetes' own and those of CustomResourceDefinitions.
	s.until("the description of the APIs", func() error {
		description := s.kubectl("get", "--raw", "/openapi/v2")
		for _, path := range []string{"/api/v1/pods", "/apis/metrics.k8s.io/v1beta1/nodes", "/apis/snapshot.storage.k8s.io/v1/volumesnapshots"} {
			if !strings.Contains(description, `"`+path+`"`) {
				return fmt.Errorf("it has no %s", path)
			}
		}
		return nil
	})
	for _, of := range []string{"pods.spec.containers", "volumesnapshots.spec", "nodes --api-version=metrics.k8s.io/v1beta1"} {
		if text := s.kubectl(append([]string{"explain"}, strings.Fields(of)...)...); !strings.Contains(text, "DESCRIPTION:") {
			t.Errorf("kubectl explain %s:\n%s", of, text)
		}
	}
}
