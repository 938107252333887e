package lifecycle

import (
	"slices"

	v1 "k8s.io/api/core/v1"
)

// MayRestart says whether a container that exited with that code may start again while
// its pod lives, as far as the spec tells. If any container has restartPolicyRules, every
// container may, until the pod's end.
func MayRestart(pod *v1.Pod, name string, exitCode int32) bool {
	if slices.ContainsFunc(specs(pod), func(c v1.Container) bool { return len(c.RestartPolicyRules) > 0 }) {
		return true
	}
	i := indexOf(pod, name)
	if i < 0 {
		return false // an ephemeral container runs once
	}
	policy := v1.ContainerRestartPolicy(pod.Spec.RestartPolicy)
	switch own := specs(pod)[i].RestartPolicy; {
	case own != nil:
		policy = *own
	case i < len(pod.Spec.InitContainers) && exitCode == 0:
		return false // it has completed
	}
	return restartsBy(policy, exitCode == 0)
}

// APIAllowsRestart says whether the API server accepts a status in which a container that
// exited with that code is no longer terminated (A-API-4).
func APIAllowsRestart(pod *v1.Pod, name string, exitCode int32) bool {
	if hasRestartAllRule(pod) {
		return true
	}
	i := indexOf(pod, name)
	if i < 0 {
		return false // an ephemeral container
	}
	c, policy := &specs(pod)[i], v1.ContainerRestartPolicy(pod.Spec.RestartPolicy)
	if c.RestartPolicy != nil {
		if _, rule := matchingRule(c.RestartPolicyRules, exitCode); rule != nil {
			return true
		}
		policy = *c.RestartPolicy
	}
	return restartsBy(policy, exitCode == 0)
}

// specs are the init containers, then the regular ones.
func specs(pod *v1.Pod) []v1.Container {
	return slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers)
}

func indexOf(pod *v1.Pod, name string) int {
	return slices.IndexFunc(specs(pod), func(c v1.Container) bool { return c.Name == name })
}
