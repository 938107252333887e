package lifecycle

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
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
	text, err := json.Marshal(m.Checkpoint())
	if err != nil {
		t.Fatal(err)
	}
	was := strings.Replace(string(text), `"version":4`, `"version":2`, 1)
	was = strings.Replace(was, `"containers":`, `"resize":{"desired":[{"name":"i","resources":{}},{"name":"a","resources":{"requests":{"cpu":"1"}}}],`+
		`"held":[[{"name":"i","resources":{}},{"name":"a","resources":{}}]]},"containers":`, 1)
	if was == string(text) || !strings.Contains(was, "desired") {
		t.Fatalf("no resize in %s", text)
	}
	var read Checkpoint
	if err := json.Unmarshal([]byte(was), &read); err != nil {
		t.Fatal(err)
	}
	got, err := Restore(pod, DefaultOptions(), read)
	if err != nil {
		t.Fatal(err)
	}
	for name, requested := range map[string]*v1.Pod{"restored": got.RequestedPod(), "shown": read.Object(pod)} {
		if diff := cmp.Diff(&own, requested.Spec.Resources); diff != "" {
			t.Errorf("%s: the pod as a whole (-want +got):\n%s", name, diff)
		}
		if cpu := requested.Spec.Containers[0].Resources.Requests.Cpu(); cpu.String() != "1" {
			t.Errorf("%s: the container asks for %s", name, cpu)
		}
	}
	if held := got.resize.Held; len(held) != 1 || !equality.Semantic.DeepEqual(held[0], allocation(pod)) {
		t.Errorf("held %+v", held)
	}
	if has := got.containers[1].Actuated.Limits.Memory(); has.String() != "256Mi" { // A-ACT-17: else it would seem to get another one
		t.Errorf("the container has the limit %s, want the pod's", has)
	}
}
