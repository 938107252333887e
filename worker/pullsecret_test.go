package worker

import (
	"slices"
	"sync/atomic"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/lifecycle"
)

// A-IMG-7: pull secrets that are missing do not keep the pull from being made, and are told of when it fails;
// an entry without a name is nobody's.
func TestMissingPullSecrets(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		pod := podOf("web", v1.RestartPolicyAlways, "main")
		pod.Spec.Containers[0].ImagePullPolicy = v1.PullAlways
		pod.Spec.ImagePullSecrets = []v1.LocalObjectReference{{Name: "a"}, {Name: ""}, {Name: "b"}}
		web := s.running(pod)
		web.ends(1)
		want := lifecycle.RecordEvent{
			Type: v1.EventTypeWarning, Reason: "FailedToRetrieveImagePullSecret",
			Message: "Unable to retrieve some image pull secrets (a, b); attempting to pull the image may not succeed.",
		}
		events := slices.DeleteFunc(web.recorded, func(e lifecycle.RecordEvent) bool { return e.Reason != want.Reason })
		assert.Deep(t, "events", []lifecycle.RecordEvent{want}, events)
	}, "fail PullImage times=1")
}

// Pull secrets are read for each pull: one that appears after a pull has failed is
// used for the next, without any change of the pod (A-IMG-11).
func TestPullSecretAppears(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		objects := &laterSecret{}
		s.node.API.Objects = func(*v1.Pod) Objects { return objects }
		pod := podOf("web", v1.RestartPolicyAlways, "main")
		pod.Spec.Containers[0].ImagePullPolicy = v1.PullAlways
		pod.Spec.ImagePullSecrets = []v1.LocalObjectReference{{Name: "a"}}
		web := s.run(pod)
		web.await("the pull to fail", func(status v1.PodStatus) bool {
			return len(status.ContainerStatuses) > 0 && status.ContainerStatuses[0].State.Waiting != nil && status.ContainerStatuses[0].State.Waiting.Reason == "ErrImagePull"
		})
		objects.there.Store(true)
		web.await("the pod to run", running)
		web.ends(1)
		missing := slices.DeleteFunc(web.recorded, func(e lifecycle.RecordEvent) bool { return e.Reason != "FailedToRetrieveImagePullSecret" })
		assert.True(t, len(missing) == 1 && objects.given.Load() == 1,
			"the secret was missing %d times and read %d times, want once each", len(missing), objects.given.Load())
	}, "fail PullImage times=1")
}

// laterSecret has a secret as soon as it is there.
type laterSecret struct {
	noObjects
	there atomic.Bool
	given atomic.Int32
}

func (o *laterSecret) Secret(namespace, name string) (*v1.Secret, error) {
	if !o.there.Load() {
		return o.noObjects.Secret(namespace, name)
	}
	o.given.Add(1)
	return &v1.Secret{Type: v1.SecretTypeDockerConfigJson, Data: map[string][]byte{v1.DockerConfigJsonKey: []byte(`{"auths":{}}`)}}, nil
}
