package pods

import (
	"context"
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/roster"
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
		s.begins(podOf("has"), podOf("other"))
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

// devices are those of a pretended node: one.
type devices struct {
	answers time.Duration // how long a plugin takes
	held    []types.UID
}

func (d *devices) Asks(pod *v1.Pod) bool { return pod.Labels["asks"] != "" }

func (d *devices) Allocate(_ context.Context, pod *v1.Pod) roster.Allocated {
	time.Sleep(d.answers)
	d.held = append(d.held, pod.UID)
	return roster.Allocated{UID: pod.UID}
}

func (d *devices) Release(uid types.UID) {
	d.held = slices.DeleteFunc(d.held, func(has types.UID) bool { return has == uid })
}

func (d *devices) Fixed() roster.Fixed { return roster.Fixed{} }

func (d *devices) Held() []types.UID { return slices.Clone(d.held) }

// A pod begins when it has its devices; others don't wait for it. It gives them back, and what
// an agent that was killed had given is taken back. (A-DEV-5, A-DEV-9)
func TestDevices(t *testing.T) {
	tell(t, func(s *story) {
		d := &devices{answers: time.Minute, held: []types.UID{"gone"}}
		s.stop()
		s.allocator = d
		s.agent()
		asks := func(pod *v1.Pod) { pod.Labels = map[string]string{"asks": "gpu"} }
		pod := podOf("asks", asks)
		s.begins(pod, podOf("other"))
		s.wantPhase("other", v1.PodRunning)
		s.wantPhase("asks", "")
		assert.Empty(t, d.held, "A-DEV-9: held")
		time.Sleep(time.Minute)
		s.settle()
		s.wantPhase("asks", v1.PodRunning)
		s.deletes(pod, 1)
		s.settle()
		assert.True(t, len(d.held) == 0, "A-DEV-9: held %v after the pod's end", d.held)
	})
}
