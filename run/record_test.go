package run

import (
	"os"
	"path/filepath"
	"testing"

	v1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifepod/lifepod/host"
	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/manifest"
)

func testRecord(t *testing.T, runtime *host.Runtime) *record {
	t.Helper()
	return assert.Get(newRecord(runtime, &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "1"}}, "")).Must(t)
}

func recordPath(runtime *host.Runtime) string {
	return filepath.Join(recordsDir(runtime.Root), "1.json")
}

func TestAbandoned(t *testing.T) {
	runtime := &host.Runtime{Root: filepath.Join(t.TempDir(), "root[1]*")} // no pattern, whatever it looks like
	own := testRecord(t, runtime)
	if list, err := records(runtime.Root); err != nil || len(list) != 1 || list[0].path != recordPath(runtime) {
		t.Errorf("%v, %v, want %q", list, err, recordPath(runtime))
	}
	if r, err := abandoned(recordPath(runtime)); r != nil || err != nil {
		t.Errorf("while its lifepod lives: %v, %v", r, err)
	}
	own.leave()
	r, err := abandoned(recordPath(runtime))
	assert.Require(t, r != nil && err == nil && r.Name == "web" && r.UID == "1", "a killed lifepod's: %+v, %v", r, err)
	r.leave()
}

// B-RST-9: a record that was opened before its pod was taken over is not that of
// an abandoned pod: whoever sweeps up would kill a pod that lives.
func TestTakenOverIsNotAbandoned(t *testing.T) {
	runtime := &host.Runtime{Root: t.TempDir()}
	killed := testRecord(t, runtime)
	seen := assert.Get(os.Open(recordPath(runtime))).Must(t) // by one that looks for what was left
	next := testRecord(t, runtime)                           // takes its place
	defer next.leave()
	killed.leave()
	r, err := abandonedFile(seen, recordPath(runtime))
	assert.True(t, r == nil && err == nil, "got %+v, %v, want none: a lifepod has it", r, err)
}

// What may change while a pod runs does not make it another pod; all else does.
func TestDigest(t *testing.T) {
	newSet := func(change func(*manifest.Set)) string {
		set := &manifest.Set{Pod: podOf("a", "b")}
		change(set)
		return assert.Get(digestOf(set)).Must(t)
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
		return assert.Get(digestOf(set)).Must(t)
	}
	assert.True(t, digest("job-", "job-abcde") == digest("job-", "job-vwxyz"), "two names of one manifest: two pods")
	assert.True(t, digest("job-", "job-abcde") != digest("work-", "work-abcde") && digest("", "job-abcde") != digest("", "job-vwxyz"),
		"two manifests: one pod")
}
