package addons

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/lifepod/lifepod/internal/assert"
)

func titles(objects []*unstructured.Unstructured) (list []string) {
	for _, o := range objects {
		list = append(list, title(o))
	}
	return list
}

// What others need comes first; apart from that the order is the file's.
func TestDecodeOrders(t *testing.T) {
	got := assert.Get(decode([]byte(`# a comment
---
apiVersion: example.com/v1
kind: Thing
metadata: {name: t, namespace: ns}
---
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: c}}
- {apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: things.example.com}}
---
{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ns"}}
---
`))).Must(t)
	want := []string{"Namespace ns", "CustomResourceDefinition things.example.com", "Thing ns/t", "ConfigMap c"}
	assert.Deep(t, "objects", want, titles(got))
}

func TestDecodeRefuses(t *testing.T) {
	const good = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n---\n"
	for text, want := range map[string]string{
		good + "a: [":                                 "document 2: line 5: YAML syntax: did not find expected node content; look for",
		good + "a: 1\na: 2":                           `document 2: line 6: the key "a" is there twice`,
		good + "a:\n  b: 1\n  c: 2\n d: 3\n":          "document 2: line 8: YAML syntax: did not find expected key",
		good + "a: b\n{{ .Values.more }}\n":           "document 2: line 6: YAML syntax: {{ .Values.more }}; this looks like a template that was not rendered",
		good + "metadata: {name: x}":                  "document 2: Object 'Kind' is missing",
		good + "kind: ConfigMap\nmetadata: {name: x}": "document 2: apiVersion and kind must be set",
		good + "apiVersion: v1\nkind: ConfigMap\nmetadata: {generateName: x}": "document 2: ConfigMap: metadata.name must be set",
		good + good: "ConfigMap c is in the file twice",
	} {
		_, err := decode([]byte(text))
		assert.True(t, err != nil && strings.Contains(err.Error(), want), "%q: err %v, want %q", text, err, want)
	}
}

// The ID is the KEP's: base64(sha256(<name>.<namespace>.<kind>.<group>)).
func TestSetID(t *testing.T) {
	assert.Deep(t, "ID", "applyset-lr_jjJ5W6b6o7OZ3qazISL62H1dSD2MdJ-W5j3Z0Ynk-v1", setID("addon-a-yaml-fd29897b"))
	a, b := parentName("/x/A b_C.yaml"), parentName("/y/A b_C.yaml")
	assert.True(t, strings.HasPrefix(a, "addon-a-b-c-yaml-") && a != b, "names %q and %q, want them readable and different", a, b)
}

func TestListTakesManifests(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"b.yml", "a.yaml", "c.json", ".hidden.yaml", "notes.txt", "sub.yaml/x.yaml"} {
		path := filepath.Join(dir, name)
		assert.Must(t, os.MkdirAll(filepath.Dir(path), 0o700))
		assert.Must(t, os.WriteFile(path, nil, 0o600))
	}
	got, err := list(dir)
	want := []string{filepath.Join(dir, "a.yaml"), filepath.Join(dir, "b.yml"), filepath.Join(dir, "c.json")}
	diff := cmp.Diff(want, got)
	assert.True(t, diff == "" && err == nil, "%v (-want +got):\n%s", err, diff)
	assert.Fails(t, assert.ErrorOf(list(filepath.Join(dir, "absent"))), "a folder that is not there is no error: everything that it had would be deleted")
}

// A file that somebody has open to write is not taken before it is closed, and what
// has not changed is not applied again.
func TestFileIsReadWhenWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.yaml")
	writer := assert.Get(os.Create(path)).Must(t)
	write := func(text string) {
		assert.Must(t, assert.ErrorOf(writer.WriteString(text)))
	}
	f, now := &file{path: path}, time.Now()
	write("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n---\n")
	again := f.read(now)
	assert.True(t, again != 0 && f.objects == nil, "again after %v with %v, want the file not to be taken yet", again, titles(f.objects))
	write("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: d}\n")
	assert.Must(t, writer.Close())
	assert.Deep(t, "again after", time.Duration(0), f.read(now))
	assert.Deep(t, "objects", []string{"ConfigMap c", "ConfigMap d"}, titles(f.objects))
	f.done = true
	f.read(now)
	assert.True(t, f.done, "a file that has not changed is to be applied again")
	assert.Must(t, os.WriteFile(path, []byte("a: ["), 0o600))
	f.read(now)
	assert.True(t, !f.done && f.err != nil, "done %v with err %v after a change that makes no sense", f.done, f.err)
}
