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
		s.apply(pod, podOf("other"))
		s.heard()
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
