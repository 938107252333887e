package run

import (
	"errors"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/lifecycle"
)

// pullPolicy is an imagePullPolicy by the words that users of docker and podman know.
type pullPolicy v1.PullPolicy

// pullWords are those words.
var pullWords = map[string]v1.PullPolicy{"always": v1.PullAlways, "missing": v1.PullIfNotPresent, "never": v1.PullNever}

func (p *pullPolicy) Set(word string) error {
	policy, found := pullWords[word]
	if !found {
		return errors.New("always, missing or never")
	}
	*p = pullPolicy(policy)
	return nil
}

func (p *pullPolicy) String() string { return string(*p) }
func (*pullPolicy) Type() string     { return "when" }

// setPullPolicy gives all images of a pod this policy, also those of its volumes.
func setPullPolicy(pod *v1.Pod, policy v1.PullPolicy) {
	if policy == "" {
		return
	}
	for _, c := range slices.Concat(pointers(pod.Spec.InitContainers), pointers(pod.Spec.Containers)) {
		c.ImagePullPolicy = policy
	}
	for _, v := range pod.Spec.Volumes {
		if v.Image != nil {
			v.Image.PullPolicy = policy
		}
	}
}

// hintPull tells, once for each container, that an image which is here can be used.
func (p *printer) hintPull(r lifecycle.Report) {
	if key := "--pull " + r.Subject; r.Because.Kind == lifecycle.BecauseIsHere && !p.hinted[key] {
		p.hinted[key] = true
		p.warn(r.Subject + ": lifepod run --pull never uses the image that is here")
	}
}
