package run

import (
	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/manifest"
)

// admitter is what an API server does to changes of a pod.
type admitter struct{}

func (admitter) WithEphemeralContainer(pod *v1.Pod, c v1.EphemeralContainer) (*v1.Pod, error) {
	return manifest.WithEphemeralContainer(pod, c)
}

func (admitter) WithResources(pod, requested *v1.Pod) (*v1.Pod, error) {
	return manifest.WithResources(pod, requested)
}
