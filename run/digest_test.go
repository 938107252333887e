package run

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"

	"github.com/lifepod/lifepod/manifest"
)

// What may change while a pod runs does not make it another pod; all else does.
func TestDigest(t *testing.T) {
	newSet := func(change func(*manifest.Set)) string {
		set := &manifest.Set{Pod: podOf("a", "b")}
		change(set)
		digest, err := digestOf(set)
		if err != nil {
			t.Fatal(err)
		}
		return digest
	}
	plain := newSet(func(*manifest.Set) {})
	for name, test := range map[string]struct {
		same   bool
		change func(*manifest.Set)
	}{
		"uid":           {true, func(s *manifest.Set) { s.Pod.UID = "other" }},
		"labels":        {true, func(s *manifest.Set) { s.Pod.Labels = map[string]string{"a": "b"} }},
		"ConfigMap":     {true, func(s *manifest.Set) { s.ConfigMaps = []*v1.ConfigMap{{}} }},
		"Secret":        {true, func(s *manifest.Set) { s.Secrets = []*v1.Secret{{}} }},
		"name":          {false, func(s *manifest.Set) { s.Pod.Name = "other" }},
		"namespace":     {false, func(s *manifest.Set) { s.Pod.Namespace = "other" }},
		"spec":          {false, func(s *manifest.Set) { s.Pod.Spec.HostNetwork = true }},
		"container":     {false, func(s *manifest.Set) { s.Pod.Spec.Containers[1].Image = "other" }},
		"runtime class": {false, func(s *manifest.Set) { s.RuntimeClasses = []*nodev1.RuntimeClass{{Handler: "kata"}} }},
	} {
		if same := newSet(test.change) == plain; same != test.same {
			t.Errorf("another %s: the same pod: %t, want %t", name, same, test.same)
		}
	}
}
