package register

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	nodeutil "k8s.io/component-helpers/node/util"
	kubeletapis "k8s.io/kubelet/pkg/apis"
)

// Hostname is the node's name: the override or the machine's hostname, in lower case.
func Hostname(override string) (string, error) { return nodeutil.GetHostname(override) }

// ParseLabels reads --node-labels: key=value, separated by commas.
func ParseLabels(text string) (map[string]string, error) {
	out := map[string]string{}
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		key, value, ok := strings.Cut(part, "=")
		if !ok {
			return nil, fmt.Errorf("node label %q: want key=value", part)
		}
		out[strings.TrimSpace(key)] = strings.TrimSpace(value)
	}
	return out, checkLabels(out)
}

// checkLabels refuses what is no label, and labels of Kubernetes' own domains
// that the API server doesn't let a node give itself.
func checkLabels(labels map[string]string) error {
	for key, value := range labels {
		if errs := validation.IsQualifiedName(key); len(errs) > 0 {
			return fmt.Errorf("node label %q: %s", key, strings.Join(errs, ", "))
		}
		if errs := validation.IsValidLabelValue(value); len(errs) > 0 {
			return fmt.Errorf("node label %s=%q: %s", key, value, strings.Join(errs, ", "))
		}
		if isKubernetesDomain(key) && !kubeletapis.IsKubeletLabel(key) {
			return fmt.Errorf("node label %q: a node may not set it itself: in the domains kubernetes.io and k8s.io want a prefix of %s, or one of %s",
				key, strings.Join(kubeletapis.KubeletLabelNamespaces(), ", "), strings.Join(kubeletapis.KubeletLabels(), ", "))
		}
	}
	return nil
}

func isKubernetesDomain(key string) bool {
	domain, _, found := strings.Cut(key, "/")
	return found && slices.ContainsFunc([]string{"kubernetes.io", "k8s.io"}, func(own string) bool {
		return domain == own || strings.HasSuffix(domain, "."+own)
	})
}

// ParseTaints reads --register-with-taints: key=value:effect or key:effect,
// separated by commas.
func ParseTaints(text string) ([]v1.Taint, error) {
	var out []v1.Taint
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		pair, effect, ok := strings.Cut(part, ":")
		if !ok {
			return nil, fmt.Errorf("taint %q: want key=value:effect or key:effect", part)
		}
		key, value, _ := strings.Cut(pair, "=")
		out = append(out, v1.Taint{Key: key, Value: value, Effect: v1.TaintEffect(effect)})
	}
	return out, checkTaints(out)
}

func checkTaints(taints []v1.Taint) error {
	effects := []v1.TaintEffect{v1.TaintEffectNoSchedule, v1.TaintEffectPreferNoSchedule, v1.TaintEffectNoExecute}
	for i, taint := range taints {
		name := taint.ToString()
		if errs := validation.IsQualifiedName(taint.Key); len(errs) > 0 {
			return fmt.Errorf("taint %q: key: %s", name, strings.Join(errs, ", "))
		}
		if errs := validation.IsValidLabelValue(taint.Value); len(errs) > 0 {
			return fmt.Errorf("taint %q: value: %s", name, strings.Join(errs, ", "))
		}
		if !slices.Contains(effects, taint.Effect) {
			return fmt.Errorf("taint %q: effect %q: want NoSchedule, PreferNoSchedule or NoExecute", name, taint.Effect)
		}
		if slices.ContainsFunc(taints[:i], func(other v1.Taint) bool { return taint.MatchTaint(&other) }) {
			return fmt.Errorf("taint %q: another one has its key and effect: want one", name)
		}
	}
	return nil
}

// labelsOf are those of a new Node: the machine's, and the user's above them.
func labelsOf(name string, given map[string]string) map[string]string {
	out := map[string]string{
		v1.LabelHostname:      name,
		v1.LabelOSStable:      runtime.GOOS,
		v1.LabelArchStable:    runtime.GOARCH,
		kubeletapis.LabelOS:   runtime.GOOS,
		kubeletapis.LabelArch: runtime.GOARCH,
	}
	maps.Copy(out, given)
	return out
}
