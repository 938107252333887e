package agent

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	plaintext "google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/testing/protocmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	api "k8s.io/kubelet/pkg/apis/podresources/v1"

	"github.com/lifepod/lifepod/e2e/member"
	"github.com/lifepod/lifepod/internal/assert"
)

// TestPodResources: a program on the node asks which devices containers have, those of plugins and those
// of claims, before and after a kill -9 of the agent; a pod that has ended is not told of (A-DEV-13, A-DEV-14, A-DEV-15).
func TestPodResources(t *testing.T) {
	t.Parallel()
	node := newNode(t, member.Config{})
	plugin := newOwnPlugin(t, node, ownResource, "g0", "g1", "g2")
	driver := newDeviceDriver(t, node, "told.example.com")
	c := newCluster(t, node)
	c.create(usesOwn)
	c.apply(strings.NewReplacer("DRIVER", driver.name, "name: pod", "name: claims").Replace(twoDevices))
	c.create("metadata: {name: ended}\nspec: {restartPolicy: Never, containers: [{name: main, image: TOOLBOX, command: [\"true\"], resources: {limits: {own.example.com/gpu: 1}}}]}")
	c.awaitReady("pod")
	c.awaitReady("claims")
	c.await("ended", "to its end", func(pod *v1.Pod) bool { return pod.Status.Phase == v1.PodSucceeded })

	connection := assert.Get(grpc.NewClient("unix:"+filepath.Join(node.Root.Dir, "pod-resources", "kubelet.sock"), grpc.WithTransportCredentials(plaintext.NewCredentials()))).Must(t)
	defer func() { _ = connection.Close() }()
	asked := api.NewPodResourcesListerClient(connection)
	device := func(id string) *api.ContainerDevices {
		return &api.ContainerDevices{ResourceName: ownResource, DeviceIds: []string{id}, Topology: &api.TopologyInfo{Nodes: []*api.NUMANode{{ID: 0}}}}
	}
	pod := &api.PodResources{Namespace: c.namespace, Name: "pod", Containers: []*api.ContainerResources{
		{Name: "main", Devices: []*api.ContainerDevices{device("g0"), device("g1")}}, {Name: "none"},
	}}
	ask := func(when string) {
		t.Helper()
		var list *api.ListPodResourcesResponse
		err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, patience, true, func(ctx context.Context) (enough bool, err error) {
			list, err = asked.List(ctx, &api.ListPodResourcesRequest{}, grpc.WaitForReady(true))
			return len(list.GetPodResources()) == 2, err
		})
		assert.Require(t, err == nil, "A-DEV-13: %s the list is %v, error %v; want the pods claims and pod", when, list, err)
		assert.Deep(t, fmt.Sprintf("A-DEV-13: %s pod", when), pod, list.PodResources[1], protocmp.Transform())
		got := map[string]int{}
		for _, container := range list.PodResources[0].Containers {
			for _, claim := range container.DynamicResources {
				for _, one := range claim.ClaimResources {
					if one.DriverName == driver.name && len(one.CdiDevices) > 0 {
						got[container.Name]++
					}
				}
			}
		}
		assert.Deep(t, fmt.Sprintf("A-DEV-13: %s devices of claims, by container", when), map[string]int{"both": 2, "second": 2}, got)
	}
	ask("at first,")
	restart(t, node)
	ask("after a kill -9,")
	plugin.server.Stop()
	newOwnPlugin(t, node, ownResource, "g0", "g1", "g2").tell([]string{"g1"}, "g0", "g2")
	awaitDevices(t, node, ownResource, 3, 2)
	all, err := asked.GetAllocatableResources(t.Context(), &api.AllocatableResourcesRequest{})
	want := &api.AllocatableResourcesResponse{Devices: []*api.ContainerDevices{device("g0"), device("g2")}}
	diff := cmp.Diff(want, all, protocmp.Transform())
	assert.True(t, diff == "" && err == nil, "A-DEV-14: error %v (-want +got):\n%s", err, diff)
	c.delete("claims")
	c.delete("pod")
	driver.wantPrepared(0)
}
