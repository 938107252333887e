package simulated

import (
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifepod/lifepod/e2e/machine"
	"github.com/lifepod/lifepod/e2e/metricsserver"
	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/sim/live"
	"github.com/lifepod/lifepod/sim/nodes"
	"github.com/lifepod/lifepod/sim/scenario/file"
)

const usesMore = "containers: {main: {runs: [{usage: [{cpu: 250m, memory: 64Mi}, {from: 1s, cpu: 1500m, memory: 3Gi}]}]}}"

// TestTop: a real metrics-server reads each simulated node, although all have one address and port, and kubectl top shows
// what the scenario says, or what pods request.
func TestTop(t *testing.T) {
	scenarios := assert.Get(file.ScenariosOf(file.Named{Name: "more", Scenario: scenarioOf(t, usesMore)})).Must(t)
	client := admin(t)
	join(t, client, nodes.Options{Count: 3, Prefix: "top-", Pods: &live.Pods{Scenarios: scenarios}})
	ns := namespace(t, client)
	for name, node := range map[string]string{"usual": "top-0", "more": "top-1", "again": "top-1"} {
		pod := podOf(name, node)
		pod.Annotations = map[string]string{}
		if node == "top-1" {
			pod.Annotations[file.Annotation] = "more"
		}
		pod.Spec.Containers[0].Resources.Requests = v1.ResourceList{
			v1.ResourceCPU: resource.MustParse("300m"), v1.ResourceMemory: resource.MustParse("128Mi"),
		}
		create(t, client, ns, pod)
	}
	awaitAll(t, client, ns, "Ready", 3, machine.IsReady)
	node, err := client.CoreV1().Nodes().Get(t.Context(), "top-0", metav1.GetOptions{}) // the simulated nodes are on this machine
	assert.Must(t, err)
	metricsserver.Start(t, metricsserver.Cluster{
		Program: plane.Binary("metrics-server"), Kubeconfig: plane.Kubeconfig(), Nodes: nodes.SimulatedLabel + "=true", Address: node.Status.Addresses[0].Address, Kubectl: plane.Kubectl,
	})

	top := awaitTop(t, ns, "pod", "again 1500m 3072Mi", "more 1500m 3072Mi", "usual 300m 128Mi")
	t.Logf("kubectl top pod:\n%s", top)
	// Each node uses 10m and 64Mi beside its pods.
	top = awaitTop(t, ns, "node", "top-0 310m 192Mi", "top-1 3010m 6208Mi", "top-2 10m 64Mi")
	t.Logf("kubectl top node:\n%s", top)

	raw, err := client.CoreV1().RESTClient().Get().Resource("nodes").Name("top-2").SubResource("proxy").Suffix("metrics/resource").DoRaw(t.Context())
	assert.True(t, err != nil && strings.Contains(string(raw), "ask for /metrics/resource/NODE"),
		"the path of a server of one node: %s, %v", raw, err)
	deleteAll(t, client, ns)
}

// awaitTop waits until kubectl top shows what is wanted: the name, CPU and memory of each. CPU may differ by 2 %.
func awaitTop(t *testing.T, ns, what string, want ...string) (out string) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(500 * time.Millisecond) {
		var err error
		args := []string{"top", what, "--no-headers", "--sort-by=", "--namespace=" + ns}
		if out, err = plane.Kubectl(t.Context(), "", args...); err == nil && shows(out, want) {
			return out
		}
		assert.Require(t, !time.Now().After(deadline), "kubectl top %s: %q, %v; want %q", what, out, err, want)
	}
}

func shows(out string, want []string) bool {
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if len(lines) != len(want) {
		return false
	}
	for i, line := range lines {
		got, wanted := strings.Fields(line), strings.Fields(want[i])
		if len(got) == 5 { // of a node there are percentages, too
			got = []string{got[0], got[1], got[3]}
		}
		if len(got) != 3 || got[0] != wanted[0] || got[2] != wanted[2] {
			return false
		}
		cpu, err := resource.ParseQuantity(got[1])
		expected := resource.MustParse(wanted[1])
		differs := max(cpu.MilliValue()-expected.MilliValue(), expected.MilliValue()-cpu.MilliValue())
		if err != nil || differs*50 > expected.MilliValue()+50 {
			return false
		}
	}
	return true
}
