package agent

import (
	"slices"
	"testing"
	"testing/synctest"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/lifecycle"
)

// A-IMG-7: pull secrets that are missing are told of, and the pull goes on; an
// entry without a name is nobody's.
func TestMissingPullSecrets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStory(t)
		pod := podOf("web", v1.RestartPolicyAlways, "main")
		pod.Spec.Containers[0].ImagePullPolicy = v1.PullAlways
		pod.Spec.ImagePullSecrets = []v1.LocalObjectReference{{Name: "a"}, {Name: ""}, {Name: "b"}}
		web := s.run(pod)
		web.await("the pod to run", running)
		web.stop(1)
		web.gone()
		want := lifecycle.RecordEvent{
			Type: v1.EventTypeWarning, Reason: "FailedToRetrieveImagePullSecret",
			Message: "Unable to retrieve some image pull secrets (a, b); attempting to pull the image may not succeed.",
		}
		if !slices.Contains(web.recorded, want) {
			t.Errorf("events %v, want %v among them", web.recorded, want)
		}
	})
}
