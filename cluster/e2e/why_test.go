package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	core "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/must"
)

// TestWhy: why a pod of the cluster is as it is, from its node's folder and, as a plugin of
// kubectl, through the API server.
func TestWhy(t *testing.T) {
	t.Parallel()
	s := newSpace(t, nil)
	s.create(podOf("crash", podSpec("exit 3")) + podOf("nowhere", podSpec("exit 0", "nodeSelector: {there: none}")))
	s.pod("crash", "be restarted", func(p *core.Pod) bool {
		return len(p.Status.ContainerStatuses) == 1 && p.Status.ContainerStatuses[0].RestartCount > 0
	})
	s.pod("nowhere", "be found to fit nowhere", func(p *core.Pod) bool {
		return len(p.Status.Conditions) > 0 && p.Status.Conditions[0].Reason == core.PodReasonUnschedulable
	})
	plugin := filepath.Join(t.TempDir(), "kubectl-lifepod")
	must.Succeed(t, os.Symlink(up.Program, plugin))
	const restarted = `main at [0-9:]+: exit 3 → \d\w\w restart`
	for _, tc := range []struct {
		name, program string
		args          []string
		want          string
	}{
		{"the folder", up.Program, []string{"why", "crash", "--root", up.Root}, restarted},
		{"through the API server", plugin, []string{"why", "crash", "--kubeconfig", up.Kubeconfig}, restarted},
		{"of the folder, a pod without a node", up.Program, []string{"why", "nowhere", "--root", up.Root}, `The pod has no node yet: 0/\d+ nodes are available`},
		{"its status", up.Program, []string{"status", "nowhere", "--root", up.Root}, `PodScheduled +False +\w+ +Unschedulable: 0/\d+ nodes are available`},
		{"in the list", up.Program, []string{"why", "--root", up.Root}, `/nowhere\n +The pod has no node yet: 0/\d+ nodes are available`},
		{"a pod without a node", plugin, []string{"why", "nowhere", "--kubeconfig", up.Kubeconfig}, `The pod has no node yet: 0/\d+ nodes are available`},
		{"a timeline", plugin, []string{"timeline", "crash", "--kubeconfig", up.Kubeconfig}, `critical path`},
	} {
		out, err := exec.CommandContext(t.Context(), tc.program, append(tc.args, "-n", s.name)...).CombinedOutput()
		if err != nil || !regexp.MustCompile(tc.want).Match(out) {
			t.Errorf("%s: %v\n%s\nwant %s", tc.name, err, out, tc.want)
		}
	}
}
