package pods

import (
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/assert"
)

// A pod's status has its devices from the beginning, at once when their health changes, and
// as they are now after a restart of the agent. (A-DEV-12)
func TestHealthOfDevices(t *testing.T) {
	tell(t, func(s *story) {
		health := v1.ResourceHealthStatusHealthy
		s.stop()
		s.health = func(pod *v1.Pod) map[string][]v1.ResourceStatus {
			if pod.Name != "has" {
				return nil
			}
			return map[string][]v1.ResourceStatus{"main": {{Name: "example.com/gpu", Resources: []v1.ResourceHealth{{ResourceID: "g0", Health: health}}}}}
		}
		s.agent()
		s.apply(podOf("has"), podOf("other"))
		s.heard()
		s.wantPhase("has", v1.PodRunning)
		s.wantHealth("has", health)
		s.wantHealth("other", "")

		health = v1.ResourceHealthStatusUnhealthy
		s.pods.DevicesChanged("uid-has")
		s.pods.DevicesChanged("unknown")
		s.settle()
		s.wantHealth("has", health)

		s.stop()
		health = v1.ResourceHealthStatusHealthy
		s.agent()
		s.settle()
		s.wantHealth("has", health)

		s.stop()
		s.health = func(*v1.Pod) map[string][]v1.ResourceStatus { return nil }
		s.agent()
		s.settle()
		s.wantHealth("has", "")
	})
}

// wantHealth says how the one device of a pod is shown; empty: it is to have none.
func (s *story) wantHealth(name string, want v1.ResourceHealthStatus) {
	s.Helper()
	pod, _ := s.pods.Pod("default", name)
	var got v1.ResourceHealthStatus
	for _, c := range pod.Status.ContainerStatuses {
		for _, resource := range c.AllocatedResourcesStatus {
			got = resource.Resources[0].Health
		}
	}
	assert.Equal(s, want, got, "A-DEV-12: the device of pod %s is shown as", name)
}
