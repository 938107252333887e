package node

import (
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/node/source"
)

// Only a static pod has its status written to a mirror pod: annotations make no pod of
// the API one (B-STA-3).
func TestStaticPodsStatus(t *testing.T) {
	tell(t, func(s *story) {
		hashed := func(pod *v1.Pod) {
			pod.Annotations = map[string]string{source.SourceAnnotation: "file", source.HashAnnotation: "hash of " + pod.Name}
		}
		s.pods.Wanted(source.OriginFile, podOf("static", hashed))
		s.apply(podOf("forged", hashed))
		s.heard()
		want := map[types.UID]string{"uid-static": "hash of static", "uid-forged": ""}
		if diff := cmp.Diff(want, s.hashes); diff != "" {
			t.Errorf("statuses with the hashes (-want +got):\n%s", diff)
		}
	}, source.OriginFile, source.OriginAPI)
}

// A static pod that another agent has begun is adopted with the status of its mirror
// pod: its file has none, and whoever reads the status sees no difference (B-RST-7,
// B-RST-6). When the API cannot be heard the runtime alone knows how it stands.
func TestStaticPodIsAdoptedAsItsMirror(t *testing.T) {
	for _, test := range []struct {
		name  string
		heard bool // the API
	}{{"API heard", true}, {"API away", false}} {
		t.Run(test.name, func(t *testing.T) {
			tell(t, func(s *story) {
				pod := staticPod("web", "1")
				s.pods.Wanted(source.OriginFile, pod)
				s.heard()
				time.Sleep(time.Minute)
				before := s.status(pod.UID)
				s.stop()
				if err := os.RemoveAll(s.memory().Dir); err != nil { // nothing is remembered
					t.Fatal(err)
				}
				s.api.shown = map[types.UID]*v1.Pod{}
				s.api.sets = nil
				s.agent()
				s.pods.Wanted(source.OriginFile, pod)
				s.pods.Heard(source.OriginFile)
				s.settle()
				if len(s.api.sets) > 0 {
					t.Errorf("statuses %v were told before the API was heard", s.api.sets)
				}
				if test.heard {
					mirror := pod.DeepCopy()
					mirror.UID, mirror.Status = "mirror", before
					s.api.shown[pod.UID] = mirror
					s.pods.Heard(source.OriginAPI)
				}
				time.Sleep(time.Minute)
				for _, phase := range s.api.sets {
					if phase != v1.PodRunning {
						t.Errorf("the pod was told to be %s", phase)
					}
				}
				after := s.status(pod.UID)
				if !test.heard { // what the mirror pod alone knows
					before.StartTime, after.StartTime = nil, nil
					for i := range after.Conditions {
						after.Conditions[i].LastTransitionTime = before.Conditions[i].LastTransitionTime
					}
				}
				if diff := cmp.Diff(before, after); diff != "" {
					t.Errorf("status of the adopted pod (-want +got):\n%s", diff)
				}
				s.wantActed("RunPodSandbox web attempt=0", 1)
			}, source.OriginFile, source.OriginAPI)
		})
	}
}
