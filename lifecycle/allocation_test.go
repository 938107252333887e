package lifecycle

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/lifepod/lifepod/internal/assert"
)

// A checkpoint before version 3 lists the resources of containers only: those of the pod
// as a whole could not change (B-RST-4).
func TestAllocationsOfVersion2(t *testing.T) {
	pod := checkpointPod()
	own := resourcesOf("2", "256Mi")
	pod.Spec.Resources = &own
	m := New(pod, DefaultOptions())
	c := m.containers[1]
	c.Position, c.ID, c.Actuated = running, "a-0", v1.ResourceRequirements{}
	text := assert.Get(json.Marshal(m.Checkpoint())).Must(t)
	was := strings.Replace(string(text), `"version":4`, `"version":2`, 1)
	was = strings.Replace(was, `"containers":`, `"resize":{"desired":[{"name":"i","resources":{}},{"name":"a","resources":{"requests":{"cpu":"1"}}}],`+
		`"held":[[{"name":"i","resources":{}},{"name":"a","resources":{}}]]},"containers":`, 1)
	assert.Require(t, was != string(text) && strings.Contains(was, "desired"), "no resize in %s", text)
	var read Checkpoint
	assert.Must(t, json.Unmarshal([]byte(was), &read))
	got := assert.Get(Restore(pod, DefaultOptions(), read)).Must(t)
	for name, requested := range map[string]*v1.Pod{"restored": got.RequestedPod(), "shown": read.Object(pod)} {
		diff := cmp.Diff(&own, requested.Spec.Resources)
		assert.True(t, diff == "", "%s: the pod as a whole (-want +got):\n%s", name, diff)
		cpu := requested.Spec.Containers[0].Resources.Requests.Cpu()
		assert.True(t, cpu.String() == "1", "%s: the container asks for %s", name, cpu)
	}
	held := got.resize.Held
	assert.True(t, len(held) == 1 && equality.Semantic.DeepEqual(held[0], allocation(pod)), "held %+v", held)
	has := got.containers[1].Actuated.Limits.Memory()
	assert.True(t, has.String() == "256Mi", "the container has the limit %s, want the pod's", has) // A-ACT-17: else it would seem to get another one
}
