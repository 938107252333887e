package manifest

import (
	"bytes"
	"errors"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/lifepod/lifepod/internal/assert"
)

// FuzzRead wants of any input: no panic, either a Pod or an Error, decoding as Kubernetes does, and that
// what is accepted is accepted again, unchanged, when it is written out.
func FuzzRead(f *testing.F) {
	entries := assert.Get(os.ReadDir("testdata/examples")).Must(f)
	for _, entry := range entries {
		f.Add(example(f, "examples/"+entry.Name()))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		source := Source{Name: "f", Data: data}
		decodesAsKubernetes(t, source)
		first, err := Read([]Source{source}, Options{Now: now})
		var e *Error
		if err != nil {
			assert.Require(t, first == nil && errors.As(err, &e) && e.Problem != "", "Read gave %v and %#v", first, err)
			return
		}
		assert.Require(t, first != nil && first.Pod != nil, "Read gave neither a Pod nor an error")
		second, err := Read([]Source{{Name: "again", Data: written(t, first)}}, Options{Now: now})
		assert.Require(t, err == nil, "what was read is refused when it is read again: %v", err)
		second.Warnings = first.Warnings
		forgetUIDs(first)
		forgetUIDs(second)
		if !equality.Semantic.DeepEqual(first, second) {
			t.Errorf("read again it differs (-first +second):\n%s", cmp.Diff(first, second))
		}
	})
}

// TestReadAgain is FuzzRead's claim for a Pod with every field.
func TestReadAgain(t *testing.T) {
	first := assert.Get(Read([]Source{{Name: "full.yaml", Data: example(t, "examples/full.yaml")}}, Options{Now: now})).Must(t)
	second := assert.Get(Read([]Source{{Name: "again.yaml", Data: written(t, first)}}, Options{Now: now})).Must(t)
	assert.True(t, first.Pod.UID != "" && first.Pod.UID != second.Pod.UID, "UIDs %q and %q, want two different ones", first.Pod.UID, second.Pod.UID)
	second.Warnings = first.Warnings
	forgetUIDs(first)
	forgetUIDs(second)
	assert.Deep(t, "read again it differs (-first +second)", first, second)
}

// written writes a Set as one YAML file.
func written(t *testing.T, set *Set) []byte {
	objects := []any{set.Pod}
	for _, c := range set.ConfigMaps {
		objects = append(objects, c)
	}
	for _, s := range set.Secrets {
		objects = append(objects, s)
	}
	var documents [][]byte
	for _, o := range objects {
		text := assert.Get(yaml.Marshal(o)).Must(t)
		documents = append(documents, text)
	}
	return bytes.Join(documents, []byte("---\n"))
}

func forgetUIDs(set *Set) {
	metas := []*metav1.ObjectMeta{&set.Pod.ObjectMeta}
	for _, c := range set.ConfigMaps {
		metas = append(metas, &c.ObjectMeta)
	}
	for _, s := range set.Secrets {
		metas = append(metas, &s.ObjectMeta)
	}
	for _, m := range metas {
		m.UID = ""
	}
}

func TestGeneratedName(t *testing.T) {
	seen := map[string]bool{}
	for range 20 {
		set := assert.Get(Read([]Source{{Name: "list.json", Data: example(t, "examples/list.json")}}, Options{})).Must(t)
		name := set.Pod.Name
		assert.Require(t, len(name) == len("hello-")+5 && name[:6] == "hello-", "name %q for generateName hello-", name)
		seen[set.Pod.Name] = true
		assert.Require(t, !set.Pod.CreationTimestamp.IsZero() && set.Pod.Status.Phase == v1.PodPending,
			"created %v, phase %q", set.Pod.CreationTimestamp, set.Pod.Status.Phase)
	}
	assert.True(t, len(seen) >= 15, "only %d different names in 20", len(seen))
}
