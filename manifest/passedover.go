package manifest

import (
	"cmp"
	"fmt"
	"strings"
)

// passedOver are kinds that mean nothing to pods on one machine, or that lifepod run has not: it goes on without them,
// and says so. By kind: the API group, and what that means.
var passedOver = map[string]struct{ group, means string }{
	"Ingress":                 {"networking.k8s.io", "-p publishes a port of a pod"},
	"IngressClass":            {"networking.k8s.io", "there are no Ingresses"},
	"NetworkPolicy":           {"networking.k8s.io", "nothing keeps pods from each other"},
	"Namespace":               {"", "a namespace needs no object here"},
	"ServiceAccount":          {"", "there is no API server to talk to"},
	"Role":                    {"rbac.authorization.k8s.io", "there is no API server to talk to"},
	"RoleBinding":             {"rbac.authorization.k8s.io", "there is no API server to talk to"},
	"ClusterRole":             {"rbac.authorization.k8s.io", "there is no API server to talk to"},
	"ClusterRoleBinding":      {"rbac.authorization.k8s.io", "there is no API server to talk to"},
	"HorizontalPodAutoscaler": {"autoscaling", "the number of pods stays as it is"},
	"PodDisruptionBudget":     {"policy", "nothing is evicted for others"},
	"PriorityClass":           {"scheduling.k8s.io", "nothing is scheduled"},
	"ResourceQuota":           {"", "nothing is counted"},
	"LimitRange":              {"", "containers have the resources that they name"},
	"StorageClass":            {"storage.k8s.io", "claims are folders on this machine"},
	"PersistentVolume":        {"", "claims are folders on this machine"},
}

// isPassedOver says whether an object is of one of these kinds, and not of a kind of that name in another API.
func (o *object) isPassedOver() bool {
	known, is := passedOver[o.kind]
	version, _ := o.value["apiVersion"].(string)
	group, _, grouped := strings.Cut(version, "/")
	if !grouped {
		group = ""
	}
	return is && group == known.group && version != ""
}

// passOver notes an object for the warning of its kind.
func (in *input) passOver(o *object) {
	for i := range in.passed {
		if in.passed[i][0].kind == o.kind {
			in.passed[i] = append(in.passed[i], o)
			return
		}
	}
	in.passed = append(in.passed, []*object{o})
}

func (in *input) passedWarnings() (warnings []string) {
	for _, same := range in.passed {
		var names []string
		for _, o := range same {
			name, _ := mapping(o.value, "metadata")["name"].(string)
			names = append(names, cmp.Or(name, "without a name"))
		}
		o := same[0]
		warnings = append(warnings, o.warning("", "passed over: %s %s: %s", o.kind, listed(names), passedOver[o.kind].means))
	}
	return warnings
}

var wantAll = fmt.Sprintf("there should be Pods, or %s, which make them, and the ConfigMaps, Secrets, PersistentVolumeClaims, RuntimeClass and Services that they use",
	strings.Join(sortedKeys(workloadKinds), "s, ")+"s")
