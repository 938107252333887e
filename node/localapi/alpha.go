package localapi

import (
	"context"

	"k8s.io/kubelet/pkg/apis/podresources/v1alpha1"
)

// alpha is the API's first version, which tells of the devices of device plugins.
type alpha struct {
	v1alpha1.UnsafePodResourcesListerServer
	server *PodResources
}

// List tells of all pods, whether they have ended or not, without sidecars (A-DEV-15).
func (a alpha) List(context.Context, *v1alpha1.ListPodResourcesRequest) (*v1alpha1.ListPodResourcesResponse, error) {
	s := a.server
	s.counts.requests.WithLabelValues("v1alpha1").Inc()
	answer := &v1alpha1.ListPodResourcesResponse{}
	for _, pod := range s.Pods() {
		all := &v1alpha1.PodResources{Name: pod.Name, Namespace: pod.Namespace}
		for i := range pod.Spec.Containers {
			c := &v1alpha1.ContainerResources{Name: pod.Spec.Containers[i].Name}
			for _, given := range s.Devices.Given(pod.UID, c.Name) {
				c.Devices = append(c.Devices, &v1alpha1.ContainerDevices{ResourceName: given.ResourceName, DeviceIds: given.DeviceIds})
			}
			all.Containers = append(all.Containers, c)
		}
		answer.PodResources = append(answer.PodResources, all)
	}
	return answer, nil
}
