package lifecycle

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
)

// verdict is what was decided at a container's exit, once (A-RST-4).
type verdict struct {
	restart bool
	because string
	rule    string
}

// decideRestart says whether a container that exited with t is started again
// (A-RST-1, A-RST-2). The stage comes first: a pod that is ending starts nothing.
func decideRestart(s *step, c *container, t *v1.ContainerStateTerminated) verdict {
	if s.stage != Syncing {
		return verdict{because: "the pod is stopping", rule: "A-RST-1"}
	}
	if c.kind == ephemeralContainer {
		return verdict{because: "ephemeral containers run once", rule: "A-RST-2"}
	}
	if c.kind == sidecarContainer {
		return verdict{restart: true, because: "sidecar", rule: "A-INIT-2"}
	}
	if c.kind == initContainer && c.succeeded(t) {
		return verdict{because: "init container completed", rule: "A-INIT-3"}
	}
	if c.spec.RestartPolicy == nil {
		policy := v1.ContainerRestartPolicy(s.pod.Spec.RestartPolicy)
		return policyVerdict(policy, c.succeeded(t), "restartPolicy "+string(policy))
	}
	if i, rule := matchingRule(c.spec.RestartPolicyRules, t.ExitCode); rule != nil {
		return verdict{restart: true, because: fmt.Sprintf("restartPolicyRules[%d]: %s", i, ruleText(rule)), rule: "A-RST-1"}
	}
	policy := *c.spec.RestartPolicy
	return policyVerdict(policy, c.succeeded(t), "the container's restartPolicy "+string(policy))
}

// matchingRule is the first rule whose exit codes match, if its action is known
// (A-RST-1, A-RST-5: a first match with an unknown action ends the search).
func matchingRule(rules []v1.ContainerRestartRule, code int32) (int, *v1.ContainerRestartRule) {
	for i := range rules {
		if !matchesExitCode(rules[i].ExitCodes, code) {
			continue
		}
		if rules[i].Action == v1.ContainerRestartRuleActionRestart {
			return i, &rules[i]
		}
		return i, nil
	}
	return 0, nil
}

func matchesExitCode(on *v1.ContainerRestartRuleOnExitCodes, code int32) bool {
	if on == nil {
		return false
	}
	listed := slices.Contains(on.Values, code)
	switch on.Operator {
	case v1.ContainerRestartRuleOnExitCodesOpIn:
		return listed
	case v1.ContainerRestartRuleOnExitCodesOpNotIn:
		return !listed
	}
	return false
}

func ruleText(r *v1.ContainerRestartRule) string {
	return fmt.Sprintf("exit code %s %v → %s", r.ExitCodes.Operator, r.ExitCodes.Values, r.Action)
}

// policyVerdict is the plain policy table (A-RST-2).
func policyVerdict(policy v1.ContainerRestartPolicy, succeeded bool, because string) verdict {
	v := verdict{because: because, rule: "A-RST-2"}
	switch policy {
	case v1.ContainerRestartPolicyAlways:
		v.restart = true
	case v1.ContainerRestartPolicyOnFailure:
		v.restart = !succeeded
	}
	return v
}

// final says that a container has exited for good.
func (c *container) final() bool {
	return c.position == exited && !c.restart.restart
}
