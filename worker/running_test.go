package worker

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
)

// The first status of a container that runs says as which user and of which image:
// whoever watches is told once, also while events are lost (A-CST-4, A-CST-16).
func TestFirstRunningStatusIsComplete(t *testing.T) {
	for _, fault := range []string{"", "lose STARTED main", "lose CREATED main", "drop CREATED main", "fail GetContainerEvents code=Unimplemented times=1000"} {
		t.Run(fault, func(t *testing.T) {
			inStory(t, func(t *testing.T, s *story) {
				if fault != "" {
					s.Fault(fault)
				}
				web := s.run(podOf("web", v1.RestartPolicyAlways, "main"))
				web.await("running", running)
				status := func() v1.ContainerStatus { return web.last().ContainerStatuses[0] }
				if status().User == nil || status().ImageID == "" {
					t.Errorf("the first status of the running container: %+v, want its user and image", status())
				}
				time.Sleep(11 * time.Second) // a snapshot's delay
				if user := status().User; user == nil || user.Linux.UID != 7 {
					t.Errorf("user %v, want 7", user)
				}
			})
		})
	}
}
