package podstatus

import (
	"slices"

	v1 "k8s.io/api/core/v1"
)

// mayStartAgain says whether the API server takes a status in which a container
// that has exited with a code is not terminated any more (A-API-4).
func mayStartAgain(pod *v1.Pod, name string, exitCode int32) bool {
	all := slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers)
	if slices.ContainsFunc(all, restartsAll) {
		return true
	}
	i := slices.IndexFunc(all, func(c v1.Container) bool { return c.Name == name })
	if i < 0 {
		return false // an ephemeral container
	}
	c := &all[i]
	if c.RestartPolicy == nil {
		return policyAllows(string(pod.Spec.RestartPolicy), exitCode)
	}
	for _, rule := range c.RestartPolicyRules {
		if rule.ExitCodes != nil && matches(rule.ExitCodes, exitCode) {
			return true
		}
	}
	return policyAllows(string(*c.RestartPolicy), exitCode)
}

func restartsAll(c v1.Container) bool {
	return slices.ContainsFunc(c.RestartPolicyRules, func(r v1.ContainerRestartRule) bool {
		return r.Action == v1.ContainerRestartRuleActionRestartAllContainers
	})
}

func matches(on *v1.ContainerRestartRuleOnExitCodes, exitCode int32) bool {
	in := slices.Contains(on.Values, exitCode)
	return in == (on.Operator == v1.ContainerRestartRuleOnExitCodesOpIn)
}

// policyAllows reads a restartPolicy of a pod or a container: they have the same words.
func policyAllows(policy string, exitCode int32) bool {
	switch policy {
	case string(v1.RestartPolicyNever):
		return false
	case string(v1.RestartPolicyOnFailure):
		return exitCode != 0
	}
	return true
}
