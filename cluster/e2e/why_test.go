package e2e

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	core "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/assert"
)

// unmade are objects for which no pod speaks.
const unmade = `
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: unmade}
spec:
  selector: {matchLabels: {app: unmade}}
  template:
    metadata: {labels: {app: unmade}}
    spec: {serviceAccountName: nobody, containers: [{name: c, image: "lifepod.dev/toolbox:1"}]}
---
apiVersion: v1
kind: Service
metadata: {name: lonely}
spec: {selector: {app: nobody}, ports: [{port: 80}]}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: unbound}
spec: {storageClassName: none, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Mi}}}
`

// TestWhy: why a pod of the cluster is as it is, from its node's folder and, as a plugin of
// kubectl, through the API server.
func TestWhy(t *testing.T) {
	t.Parallel()
	s := newSpace(t, nil)
	s.create(podOf("crash", podSpec("exit 3")) + podOf("nowhere", podSpec("exit 0", "nodeSelector: {there: none}")) + unmade)
	s.pod("crash", "be restarted", func(p *core.Pod) bool {
		return len(p.Status.ContainerStatuses) == 1 && p.Status.ContainerStatuses[0].RestartCount > 0
	})
	s.pod("nowhere", "be found to fit nowhere", func(p *core.Pod) bool {
		return len(p.Status.Conditions) > 0 && p.Status.Conditions[0].Reason == core.PodReasonUnschedulable
	})
	s.until("the Deployment's pods be refused and the claim be looked at", func() error {
		looked, err := s.try("", "get", "events", "-o", "name", "--field-selector", "reason=ProvisioningFailed")
		if looked == "" {
			err = errors.Join(err, errors.New("no event of the claim"))
		}
		if failed := s.kubectl("get", "rs", "-o", "jsonpath={.items[*].status.conditions[*].type}"); failed != "ReplicaFailure" {
			err = errors.Join(err, fmt.Errorf("conditions %q", failed))
		}
		return err
	})
	plugin := filepath.Join(t.TempDir(), "kubectl-lifepod")
	assert.Must(t, os.Symlink(up.Program, plugin))
	const restarted = `main at [0-9:]+: exit 3 → \d\w\w restart`
	for _, tc := range []struct {
		name, program string
		args          []string
		want          string
	}{
		{"the folder", up.Program, []string{"why", "crash", "--root", up.Root}, restarted},
		{"through the API server", plugin, []string{"why", "crash", "--kubeconfig", up.Kubeconfig}, restarted},
		{"through lifepod kubectl", up.Program, []string{"kubectl", "lifepod", "why", "crash", "--root", up.Root}, restarted},
		{"of the folder, a pod without a node", up.Program, []string{"why", "nowhere", "--root", up.Root}, `The pod has no node yet: 0/\d+ nodes are available`},
		{"its status", up.Program, []string{"status", "nowhere", "--root", up.Root}, `PodScheduled +False +\w+ +Unschedulable: 0/\d+ nodes are available`},
		{"in the list", up.Program, []string{"why", "--root", up.Root}, `/nowhere\n +The pod has no node yet: 0/\d+ nodes are available`},
		{"a Deployment without pods", up.Program, []string{"why", "--root", up.Root}, `Deployment \S+/unmade\n +It has 0 of 1 pod, because another can't be created: pods "unmade-(?s:.+)serviceaccount\s+"nobody"\s+not\s+found`},
		{"a claim", plugin, []string{"why", "--kubeconfig", up.Kubeconfig}, `PersistentVolumeClaim \S+/unbound\n +It is not bound: storageclass`},
		{"a Service", plugin, []string{"why", "--kubeconfig", up.Kubeconfig}, `Service \S+/lonely\n +It has no endpoints: no pod with an address has the labels app=nobody`},
		{"a pod without a node", plugin, []string{"why", "nowhere", "--kubeconfig", up.Kubeconfig}, `The pod has no node yet: 0/\d+ nodes are available`},
		{"a timeline", plugin, []string{"timeline", "crash", "--kubeconfig", up.Kubeconfig}, `critical path`},
	} {
		out, err := exec.CommandContext(t.Context(), tc.program, append(tc.args, "-n", s.name)...).CombinedOutput()
		assert.True(t, err == nil && regexp.MustCompile(tc.want).Match(out), "%s: %v\n%s\nwant %s", tc.name, err, out, tc.want)
	}
}
