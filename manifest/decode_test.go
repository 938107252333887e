package manifest

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	kjson "sigs.k8s.io/json"

	"github.com/lifepod/lifepod/internal/assert"
)

// decodesAsKubernetes decodes every object of a file, and fails if one that is accepted comes out
// different from Kubernetes' own strict decoding. It gives the number of objects accepted.
func decodesAsKubernetes(t *testing.T, s Source) (accepted int) {
	t.Helper()
	documents, _ := split(s)
	for _, d := range documents {
		p, _ := parse(d)
		if p == nil {
			continue
		}
		found, errs := objects(p, false)
		if errs != nil {
			continue
		}
		for _, o := range found {
			got, want := newObject(o.kind), newObject(o.kind)
			text, err := json.Marshal(o.value)
			if err != nil || len(o.decode(got)) > 0 {
				continue
			}
			strict, err := kjson.UnmarshalStrict(text, want)
			assert.True(t, err == nil && strict == nil, "decode takes %s, Kubernetes does not: %v %v", text, err, strict)
			if !equality.Semantic.DeepEqual(want, got) {
				t.Errorf("decode differs from Kubernetes (-Kubernetes +ours):\n%s", cmp.Diff(want, got))
			}
			accepted++
		}
	}
	return accepted
}

func newObject(kind string) any {
	switch kind {
	case "Pod":
		return &v1.Pod{}
	case "Secret":
		return &v1.Secret{}
	default:
		return &v1.ConfigMap{}
	}
}

func TestDecodeAsKubernetes(t *testing.T) {
	entries := assert.Get(os.ReadDir("testdata/examples")).Must(t)
	want := map[string]int{"full.yaml": 4, "minimal.yaml": 1, "list.json": 2, "anchors.yaml": 1}
	got := map[string]int{}
	for _, entry := range entries {
		n := decodesAsKubernetes(t, Source{Name: entry.Name(), Data: example(t, "examples/"+entry.Name())})
		if n > 0 {
			got[entry.Name()] = n
		}
	}
	assert.Deep(t, "objects accepted by strict decoding", want, got)

	odd := `{"apiVersion": "v1", "kind": "Pod", "metadata": {"labels": {"a": null}, "annotations": {}},
		"spec": {"volumes": [], "containers": [null, {"resources": {"limits": {"cpu": 2, "memory": null}}, "env": [],
		"ports": null, "tty": null, "securityContext": {}, "livenessProbe": {"httpGet": {"port": "http"}, "periodSeconds": 3}}]}}
		{"apiVersion": "v1", "kind": "ConfigMap", "binaryData": {"a": "", "b": "AA==", "c": null}}`
	n := decodesAsKubernetes(t, Source{Name: "odd.json", Data: []byte(odd)})
	assert.True(t, n == 2, "accepted %d of 2 odd objects", n)
}
