package manifest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// passedKinds are kinds that mean nothing to pods on one machine, or that lifepod run has not: it goes on without them,
// and says so. By kind: the API group, and what that means.
var passedKinds = map[string]struct{ group, means string }{
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

// passedOver is what it means that an object is passed over, empty if it is not: one of these kinds, and not of a kind of that name in
// another API, or a test of a Helm chart.
func (o *object) passedOver() string {
	if hook, _ := mapping(mapping(o.value, "metadata"), "annotations")["helm.sh/hook"].(string); strings.HasPrefix(hook, "test") {
		return "tests of a chart, which helm test runs"
	}
	version, _ := o.value["apiVersion"].(string)
	group, _, grouped := strings.Cut(version, "/")
	if !grouped {
		group = ""
	}
	if known := passedKinds[o.kind]; group == known.group && version != "" {
		return known.means
	}
	return ""
}

// passed are objects that are passed over, for one warning.
type passed struct {
	means  string
	first  *object
	kinds  []string
	byKind map[string][]string // names
}

func (in *input) passOver(o *object, means string) {
	i := slices.IndexFunc(in.passed, func(p passed) bool { return p.means == means })
	if i < 0 {
		i = len(in.passed)
		in.passed = append(in.passed, passed{means: means, first: o, byKind: map[string][]string{}})
	}
	p := &in.passed[i]
	if p.byKind[o.kind] == nil {
		p.kinds = append(p.kinds, o.kind)
	}
	name, _ := mapping(o.value, "metadata")["name"].(string)
	p.byKind[o.kind] = append(p.byKind[o.kind], cmp.Or(name, "without a name"))
}

func (p *passed) warning() *Error {
	var names []string
	for _, kind := range p.kinds {
		names = append(names, kind+" "+listed(p.byKind[kind]))
	}
	return p.first.warning("", "passed over: %s: %s", strings.Join(names, "; "), p.means)
}

var wantAll = fmt.Sprintf("there should be Pods, or %s, which make them, and the ConfigMaps, Secrets, PersistentVolumeClaims, RuntimeClass and Services that they use",
	strings.Join(sortedKeys(workloadKinds), "s, ")+"s")
