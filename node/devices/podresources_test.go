package devices

import (
	"testing"

	"google.golang.org/protobuf/testing/protocmp"
	api "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
	podresources "k8s.io/kubelet/pkg/apis/podresources/v1"

	"github.com/lifepod/lifepod/internal/assert"
)

// A-DEV-13, A-DEV-14: others are told of the devices that a container has, once for each NUMA node, and of all
// that are healthy.
func TestGivenAndUsable(t *testing.T) {
	n := begin(t, folder(t), nil)
	f := n.plugin("a.sock", nil, "g0")
	list := devicesOf(api.Healthy, "g0", "g1", "g2")
	list[0].Topology = &api.TopologyInfo{Nodes: []*api.NUMANode{{ID: 1}, {ID: 0}}}
	list[2].Health = api.Unhealthy
	f.lists <- list
	n.await(gpu, 3, 2)
	pod := podOf("p", "2")
	if got := n.Allocate(t.Context(), pod); got.Refusal != nil {
		t.Fatal(got.Refusal)
	}
	on := func(node int64) *podresources.TopologyInfo {
		return &podresources.TopologyInfo{Nodes: []*podresources.NUMANode{{ID: node}}}
	}
	given := []*podresources.ContainerDevices{
		{ResourceName: gpu, DeviceIds: []string{"g0"}, Topology: on(0)}, {ResourceName: gpu, DeviceIds: []string{"g0"}, Topology: on(1)},
		{ResourceName: gpu, DeviceIds: []string{"g1"}},
	}
	assert.Deep(t, "A-DEV-13: given", given, n.Given("p", "main"), protocmp.Transform())
	assert.Empty(t, n.Given("p", "other"), "A-DEV-13: a container without devices has")
	usable := []*podresources.ContainerDevices{given[1], given[0], given[2]} // the plugin's order of nodes
	assert.Deep(t, "A-DEV-14: usable", usable, n.Usable(), protocmp.Transform())
	f.server.Stop()
	n.await(gpu, 3, 0)
	if got := n.Usable(); len(got) > 0 {
		t.Errorf("A-DEV-14: without their plugin %v can be used", got)
	}
}
