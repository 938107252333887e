package devices

import (
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	podresources "k8s.io/kubelet/pkg/apis/podresources/v1"
)

// Given are the devices of a container's claims as the pod resources API tells of them: those of the
// whole claim, by driver (A-DEV-13). If one is not prepared, there are none.
func (c *Claims) Given(pod *v1.Pod, container *v1.Container) (list []*podresources.DynamicResource) {
	var seen []types.NamespacedName
	for _, use := range usesOf(pod, container) {
		if slices.Contains(seen, use.claim) {
			continue
		}
		seen = append(seen, use.claim)
		claim, found := c.store.get(use.claim)
		if !found {
			return nil
		}
		list = append(list, given(claim))
	}
	return list
}

func given(claim Claim) *podresources.DynamicResource {
	resource := &podresources.DynamicResource{ClaimName: claim.ClaimName, ClaimNamespace: claim.Namespace}
	for _, driver := range slices.Sorted(maps.Keys(claim.DriverState)) {
		for _, device := range claim.DriverState[driver].Devices {
			one := &podresources.ClaimResource{DriverName: driver, PoolName: device.PoolName, DeviceName: device.DeviceName, ShareId: (*string)(device.ShareID)}
			for _, id := range device.CDIDeviceIDs {
				one.CdiDevices = append(one.CdiDevices, &podresources.CDIDevice{Name: id})
			}
			resource.ClaimResources = append(resource.ClaimResources, one)
		}
	}
	return resource
}
