package manifest

import (
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kubernetes/pkg/apis/core"

	"github.com/lifepod/lifepod/lifecycle"
)

// ownAction is a restart rule whose action Kubernetes does not know.
type ownAction struct {
	rule   *core.ContainerRestartRule
	action core.ContainerRestartRuleAction
}

// hideOwnActions puts a Kubernetes action in place of each that only lifepod
// has, so that Kubernetes' validation judges the rest of the rule; show puts them back.
func hideOwnActions(spec *core.PodSpec) (show func()) {
	var hidden []ownAction
	for _, list := range [][]core.Container{spec.InitContainers, spec.Containers} {
		for i := range list {
			for j := range list[i].RestartPolicyRules {
				rule := &list[i].RestartPolicyRules[j]
				switch v1.ContainerRestartRuleAction(rule.Action) {
				case lifecycle.ActionTerminatePod, lifecycle.ActionComplete:
					hidden = append(hidden, ownAction{rule, rule.Action})
					rule.Action = core.ContainerRestartRuleActionRestart
				}
			}
		}
	}
	return func() {
		for _, h := range hidden {
			h.rule.Action = h.action
		}
	}
}

// nameOwnActions adds the actions that only lifepod has to those that Kubernetes'
// validation names as supported.
func nameOwnActions(errs field.ErrorList) field.ErrorList {
	for _, e := range errs {
		if e.Type == field.ErrorTypeNotSupported && strings.Contains(e.Field, ".restartPolicyRules[") && strings.HasSuffix(e.Field, "].action") {
			e.Detail += fmt.Sprintf(", %q, %q", lifecycle.ActionComplete, lifecycle.ActionTerminatePod)
		}
	}
	return errs
}

// checkGroupAnnotations refuses what only the node of a cluster can do (B-GRP-10).
func checkGroupAnnotations(pod *v1.Pod) (errs field.ErrorList) {
	if lifecycle.AsksForGroup(pod) {
		path := field.NewPath("metadata", "annotations").Key(lifecycle.GroupAnnotation)
		if _, named := pod.Annotations[lifecycle.GroupAnnotation]; !named {
			path = field.NewPath("metadata")
		}
		errs = append(errs, field.Forbidden(path, "a pod takes part in a group only on a node of a cluster (lifepod agent)"))
	}
	return errs
}

// checkRestartAnnotations refuses annotations of restart tuning that say nothing
// lifepod could follow.
func checkRestartAnnotations(pod *v1.Pod) (errs field.ErrorList) {
	for _, wrong := range lifecycle.CheckAnnotations(pod) {
		path := field.NewPath("metadata", "annotations").Key(wrong.Key)
		errs = append(errs, field.Invalid(path, pod.Annotations[wrong.Key], wrong.Err.Error()))
	}
	return errs
}
