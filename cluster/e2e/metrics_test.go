package e2e

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lifepod/lifepod/cluster/e2e/instance"
	"github.com/lifepod/lifepod/e2e/metricsserver"
	"github.com/lifepod/lifepod/internal/assert"
)

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
	program := assert.Get(filepath.Abs("../../.cache/controlplane/bin/metrics-server")).Must(t)
	metricsserver.Start(t, metricsserver.Cluster{
		Program: program, Kubeconfig: up.Kubeconfig, Kubectl: up.Kubectl,
		Address: s.kubectl("get", "node", instance.Node, "-o", `jsonpath={.status.addresses[?(@.type=="InternalIP")].address}`),
	})
	s.create(workload("apps/v1 Deployment", "grows", "replicas: 1", "exec sleep --on-term 0 1h") + autoscaler)
	s.wait("hpa/grows", "jsonpath={.status.desiredReplicas}=2")
	s.wait("deployment/grows", "jsonpath={.status.readyReplicas}=2")
	for _, args := range [][]string{{"top", "pods", "--no-headers"}, {"top", "node", instance.Node, "--no-headers"}} {
		fields := strings.Fields(s.kubectl(args...))
		assert.True(t, len(fields) >= 3, "kubectl %v: %v, want figures", args, fields)
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
		text := s.kubectl(append([]string{"explain"}, strings.Fields(of)...)...)
		assert.True(t, strings.Contains(text, "DESCRIPTION:"), "kubectl explain %s:\n%s", of, text)
	}
}
