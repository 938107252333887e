package agent

import (
	"slices"
	"testing"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/cri"
)

// TestSandboxOfNobody: what the runtime has of a pod that nobody knows goes, also if it comes while the agent runs: a call of an
// agent that was killed may be carried out late (B-WRK-21).
func TestSandboxOfNobody(t *testing.T) {
	t.Parallel()
	c := newCluster(t, shared)
	endpoint, err := cri.Dial("unix://" + c.node.Root.RunDir() + "/containerd.sock")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = endpoint.Close() }() // no call is under way
	runtime := endpoint.Runtime
	const uid = "0f6b5b80-5d5b-4ef2-9a3b-stranger"
	sandbox, err := runtime.RunPodSandbox(t.Context(), &runtimeapi.RunPodSandboxRequest{Config: &runtimeapi.PodSandboxConfig{
		Metadata: &runtimeapi.PodSandboxMetadata{Name: "stranger", Namespace: c.namespace, Uid: uid},
		Labels:   map[string]string{cri.PodUIDLabel: uid}, LogDirectory: t.TempDir(),
	}})
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	for {
		list, err := runtime.ListPodSandbox(t.Context(), &runtimeapi.ListPodSandboxRequest{})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(list.Items, func(s *runtimeapi.PodSandbox) bool { return s.Id == sandbox.PodSandboxId }) {
			t.Logf("the sandbox was gone after %v", time.Since(began).Round(time.Second))
			return
		}
		if time.Since(began) > patience {
			t.Fatalf("the sandbox of nobody is still there after %v", patience)
		}
		time.Sleep(time.Second)
	}
}
