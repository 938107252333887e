package devices

import (
	"testing"

	"google.golang.org/protobuf/testing/protocmp"
	v1 "k8s.io/api/core/v1"
	podresources "k8s.io/kubelet/pkg/apis/podresources/v1"

	"github.com/lifepod/lifepod/internal/assert"
)

// A-DEV-13: others are told of the devices of a container's claims once these are prepared, each claim
// once, and after a restart of the agent.
func TestGiven(t *testing.T) {
	pod := podNamed("p", named("a"), named("b"))
	main := &pod.Spec.Containers[0]
	main.Resources.Claims = []v1.ResourceClaim{{Name: "of-a", Request: "gpu"}, {Name: "of-a", Request: "other"}}
	n := claimsNewNode(t, claimFor("a", "gpu.example.com", pod), claimFor("b", "gpu.example.com", pod))
	assert.Empty(t, n.Given(pod, main), "A-DEV-13: before they are prepared")
	n.register(serve(t, "gpu.example.com", nil))
	assert.Must(t, n.Prepare(t.Context(), pod))
	want := []*podresources.DynamicResource{{ClaimName: "a", ClaimNamespace: "default", ClaimResources: []*podresources.ClaimResource{{
		DriverName: "gpu.example.com", PoolName: "pool", DeviceName: "gpu-0", CdiDevices: []*podresources.CDIDevice{{Name: "gpu.example.com/gpu=a-uid"}},
	}}}}
	for range 2 {
		assert.Deep(t, "A-DEV-13", want, n.Given(pod, main), protocmp.Transform())
		n.restart()
	}
	assert.Empty(t, n.Given(pod, &v1.Container{Name: "none"}), "A-DEV-13: a container without claims has")
}
