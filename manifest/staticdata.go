package manifest

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
)

// Unsatisfied is the first ConfigMap, Secret or key that a static pod needs and that is not among those
// given, nil if it has all. It may not have them from an API server (B-STA-9).
func Unsatisfied(pod *v1.Pod, configMaps []*v1.ConfigMap, secrets []*v1.Secret) error {
	set := &Set{}
	for _, c := range configMaps {
		if c.Namespace == pod.Namespace {
			set.ConfigMaps = append(set.ConfigMaps, c)
		}
	}
	for _, s := range secrets {
		if s.Namespace == pod.Namespace {
			set.Secrets = append(set.Secrets, s)
		}
	}
	const want = "a static pod uses those of the files beside it only: add it there, or set optional: true"
	ref, key := set.lacks(pod)
	switch {
	case ref == nil:
		return nil
	case key == nil:
		return &Error{Field: ref.path.String(), Problem: fmt.Sprintf("there is no %s %q in namespace %s", ref.kind, ref.name, pod.Namespace), Want: want}
	}
	return &Error{Field: key.path.String(), Problem: fmt.Sprintf("the %s %q has no key %q", ref.kind, ref.name, key.key), Want: want}
}

// Uses says whether a Pod names a ConfigMap or Secret (the kind) of its namespace, needed or optional, pull
// secrets included.
func Uses(pod *v1.Pod, kind, name string) bool {
	if kind == "Secret" && slices.Contains(pod.Spec.ImagePullSecrets, v1.LocalObjectReference{Name: name}) {
		return true
	}
	return slices.ContainsFunc(references(&pod.Spec), func(r reference) bool { return r.kind == kind && r.name == name })
}

// WithoutData is a copy of a Pod without what it has from ConfigMaps and Secrets, for an API server, which
// takes no such mirror pod: volumes become empty ones, variables are unset. It also names the fields.
func WithoutData(pod *v1.Pod) (*v1.Pod, []string) {
	s := stripper{pod: pod.DeepCopy()}
	for i := range s.pod.Spec.Volumes {
		s.volume(fmt.Sprintf("volumes[%d]", i), &s.pod.Spec.Volumes[i])
	}
	s.containers("initContainers", s.pod.Spec.InitContainers)
	s.containers("containers", s.pod.Spec.Containers)
	if s.pod.Spec.ImagePullSecrets != nil {
		s.pod.Spec.ImagePullSecrets = nil
		s.gone("imagePullSecrets")
	}
	return s.pod, s.fields
}

// stripper takes references out of its pod.
type stripper struct {
	pod    *v1.Pod
	fields []string
}

func (s *stripper) gone(path string) { s.fields = append(s.fields, "spec."+path) }

func (s *stripper) volume(path string, v *v1.Volume) {
	empty := v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}
	switch {
	case v.ConfigMap != nil || v.Secret != nil:
		v.VolumeSource = empty
		s.gone(path)
	case v.Projected != nil:
		kept := slices.DeleteFunc(slices.Clone(v.Projected.Sources), func(p v1.VolumeProjection) bool {
			return p.ConfigMap != nil || p.Secret != nil
		})
		if len(kept) == len(v.Projected.Sources) {
			return
		}
		s.gone(path)
		v.Projected.Sources = kept
		if len(kept) == 0 {
			v.VolumeSource = empty
		}
	}
}

func (s *stripper) containers(list string, containers []v1.Container) {
	for i := range containers {
		c := &containers[i]
		path := fmt.Sprintf("%s[%d]", list, i)
		if c.EnvFrom != nil {
			c.EnvFrom = nil
			s.gone(path + ".envFrom")
		}
		for j := range c.Env {
			from := c.Env[j].ValueFrom
			if from != nil && (from.ConfigMapKeyRef != nil || from.SecretKeyRef != nil) {
				c.Env[j].ValueFrom = nil
				s.gone(fmt.Sprintf("%s.env[%d]", path, j))
			}
		}
	}
}
