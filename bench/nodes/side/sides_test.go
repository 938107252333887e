package side

import (
	"os"
	"path/filepath"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/sim/choice"
	"github.com/lifepod/lifepod/sim/live"
)

// What the benchmark says of containers is what lifepod sim nodes takes.
func TestScenario(t *testing.T) {
	file := filepath.Join(t.TempDir(), "scenario.yaml")
	if err := os.WriteFile(file, []byte(scenario), 0o600); err != nil {
		t.Fatal(err)
	}
	scenarios, err := choice.Read([]string{file})
	if err != nil {
		t.Fatal(err)
	}
	if err := (&live.Pods{Scenarios: scenarios}).Check(); err != nil {
		t.Error(err)
	}
}

// Pods are spread over the nodes of their side, and one with a life is awaited until it is Ready for the second time.
func TestPods(t *testing.T) {
	for name, want := range map[string]string{Lifepod: "sim-2", KWOK: "kwok-2", Life: "sim-2"} {
		if got := All[name].Pod(12, 10).Spec.NodeName; got != want {
			t.Errorf("%s: pod 12 is on %s, want %s", name, got, want)
		}
	}
	pod := All[Life].Pod(0, 1)
	pod.Status.Conditions = []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue}}
	for restarts, want := range []bool{false, true} {
		pod.Status.ContainerStatuses = []v1.ContainerStatus{{Name: "once", RestartCount: int32(restarts)}} //nolint:gosec // 0 or 1
		if got := All[Life].Ready(pod); got != want {
			t.Errorf("after %d restarts: %t, want %t", restarts, got, want)
		}
	}
}
