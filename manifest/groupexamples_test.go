package manifest

import (
	"os"
	"path/filepath"
	"testing"

	v1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/lifecycle"
)

// podTemplate is that of the pods of a workload, of whichever kind, wherever it is in it; nil: there is none.
func podTemplate(object any) map[string]any {
	fields, _ := object.(map[string]any)
	if spec, is := fields["spec"].(map[string]any); is && spec["containers"] != nil {
		return fields
	}
	for _, below := range fields {
		if list, is := below.([]any); is {
			below = list[0]
		}
		if found := podTemplate(below); found != nil {
			return found
		}
	}
	return nil
}

// TestGroupExamples: the pods of the examples of groups can be read, and are members (B-GRP-17).
func TestGroupExamples(t *testing.T) {
	files := assert.Get(filepath.Glob("../examples/cluster/group-*.yaml")).Must(t)
	assert.Equal(t, 3, len(files), "examples")
	for _, file := range files {
		var object any
		assert.Must(t, yaml.Unmarshal(assert.Get(os.ReadFile(file)).Must(t), &object))
		pod := podTemplate(object)
		pod["apiVersion"], pod["kind"] = "v1", "Pod"
		var read v1.Pod
		assert.Must(t, yaml.UnmarshalStrict(assert.Get(yaml.Marshal(pod)).Must(t), &read))
		peer, is := lifecycle.GroupPeer(&read.ObjectMeta)
		assert.True(t, is && peer.Size == 4 && read.Labels[lifecycle.GroupNameLabel] != "", "%s: %+v", file, peer)
		pod["metadata"] = map[string]any{"name": "worker"} // without annotations, which lifepod sim refuses
		assert.Must(t, assert.ErrorOf(Read([]Source{{Name: file, Data: assert.Get(yaml.Marshal(pod)).Must(t)}}, Options{})))
	}
}
