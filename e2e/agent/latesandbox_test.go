package agent

import (
	"slices"
	"testing"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/cri"
	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/worker/criconfig"
)

// TestSandboxThatComesLate: what the runtime has of a pod that has gone goes, too: a call of an agent that was killed may be carried
// out late (B-WRK-21).
func TestSandboxThatComesLate(t *testing.T) {
	t.Parallel()
	c := newCluster(t, shared)
	endpoint := assert.Get(cri.Dial("unix://" + c.node.Root.RunDir() + "/containerd.sock")).Must(t)
	defer func() { _ = endpoint.Close() }() // no call is under way
	runtime := endpoint.Runtime
	c.create(polite)
	pod := c.awaitReady("pod")
	c.delete("pod")
	c.awaitForgotten(pod)
	uid := string(pod.UID)
	late := assert.Get(runtime.RunPodSandbox(t.Context(), &runtimeapi.RunPodSandboxRequest{Config: &runtimeapi.PodSandboxConfig{
		Metadata: &runtimeapi.PodSandboxMetadata{Name: "late", Namespace: c.namespace, Uid: uid},
		Labels:   map[string]string{cri.PodUIDLabel: uid}, LogDirectory: t.TempDir(),
		Annotations: map[string]string{criconfig.NodeAnnotation: c.node.Name},
	}})).Must(t)
	began := time.Now()
	for {
		list := assert.Get(runtime.ListPodSandbox(t.Context(), &runtimeapi.ListPodSandboxRequest{})).Must(t)
		if !slices.ContainsFunc(list.Items, func(s *runtimeapi.PodSandbox) bool { return s.Id == late.PodSandboxId }) {
			t.Logf("the sandbox was gone after %v", time.Since(began).Round(time.Second))
			return
		}
		assert.Require(t, time.Since(began) <= patience, "the sandbox is still there after %v", patience)
		time.Sleep(time.Second)
	}
}
