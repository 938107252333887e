package run

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/manifest"
)

// What may change while a pod runs does not make it another pod; all else does.
func TestDigest(t *testing.T) {
	newSet := func(change func(*manifest.Set)) string {
		set := &manifest.Set{Pod: podOf("a", "b")}
		change(set)
		digest := assert.Get(digestOf(set)).Must(t)
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
		assert.Equal(t, test.same, newSet(test.change) == plain, "another %s: the same pod", name)
	}
}

// A name that was generated is another each time: the pods of such a manifest are told
// apart by what it was generated from.
func TestDigestOfGeneratedName(t *testing.T) {
	digest := func(generateName, name string) string {
		set := &manifest.Set{Pod: podOf("a")}
		set.Pod.GenerateName, set.Pod.Name = generateName, name
		text := assert.Get(digestOf(set)).Must(t)
		return text
	}
	assert.True(t, digest("job-", "job-abcde") == digest("job-", "job-vwxyz"), "two names of one manifest: two pods")
	assert.True(t, digest("job-", "job-abcde") != digest("work-", "work-abcde") && digest("", "job-abcde") != digest("", "job-vwxyz"),
		"two manifests: one pod")
}
