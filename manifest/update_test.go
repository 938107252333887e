package manifest

import (
	"strings"
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
)

const running = `
apiVersion: v1
kind: ConfigMap
metadata: {name: conf}
data: {a: "1", b: "2"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: fixed}
data: {a: "1"}
immutable: true
---
apiVersion: v1
kind: Secret
metadata: {name: sec}
stringData: {key: hush}
---
apiVersion: v1
kind: Pod
metadata: {name: web, labels: {app: shop}}
spec:
  volumes:
  - {name: v, configMap: {name: conf, items: [{key: a, path: a}]}}
  - {name: s, secret: {secretName: sec}}
  containers:
  - {name: c, image: "i:1", resources: {limits: {memory: 64Mi}}, env: [{name: A, value: x}]}
`

func TestUpdate(t *testing.T) {
	tests := []struct {
		name    string
		edits   []string // old, new, …
		want    Update
		wantErr string
	}{
		{name: "nothing", edits: []string{"{app: shop}", "{app:   shop }", "64Mi", "65536Ki"}},
		{name: "data", edits: []string{`b: "2"`, `b: "3"`}, want: Update{Changed: []string{"ConfigMap conf"}}},
		{name: "a key more, and a secret", edits: []string{`b: "2"`, `b: "2", c: "x"`, "hush", "shh"}, want: Update{Changed: []string{"ConfigMap conf", "Secret sec"}}},
		{name: "labels", edits: []string{"shop", "store"}, want: Update{Changed: []string{"the Pod's labels"}}},
		{
			name: "fields of the spec", edits: []string{`"i:1"`, `"i:2"`, "value: x", "value: z", "64Mi", "65Mi", `b: "2"`, `b: "3"`},
			want: Update{Changed: []string{"ConfigMap conf"}, Ignored: []string{
				"spec.containers[0].image", "spec.containers[0].env[0].value", "spec.containers[0].resources.limits", "spec.containers[0].resources.requests",
			}},
		},
		{name: "a container more", edits: []string{"  containers:", "  containers:\n  - {name: d, image: \"i:1\"}"}, want: Update{Ignored: []string{"spec.containers"}}},
		{
			name: "A-VOL-5 immutable", edits: []string{`{a: "1"}`, `{a: "2"}`},
			wantErr: `ConfigMap "fixed": data: field is immutable when ` + "`immutable` is set",
		},
		{
			name: "a type of secret", edits: []string{"stringData: {key: hush}", "type: x/y\nstringData: {key: hush}"},
			wantErr: `Secret "sec": type: field is immutable`,
		},
		{
			name: "a key that the running pod needs", edits: []string{`{a: "1", b: "2"}`, `{b: "2"}`, "key: a, path: a", "key: b, path: a"},
			wantErr: `the ConfigMap "conf" has no key "a" any more, and spec.volumes[0].configMap.items[0].key of the Pod that runs needs it`,
		},
		{
			name: "an object that the running pod needs", edits: []string{"{name: sec}", "{name: other}", "secretName: sec", "secretName: other"},
			wantErr: `the Secret "sec" is gone, and spec.volumes[1].secret.secretName of the Pod that runs needs it`,
		},
		{name: "another pod", edits: []string{"name: web", "name: wab"}, wantErr: "the Pod that runs is default/web, not default/wab"},
	}
	read := func(t *testing.T, text string) *Set {
		t.Helper()
		return assert.Get(Read([]Source{{Name: "pod.yaml", Data: []byte(text)}}, Options{Now: now})).Must(t)
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			for i := 0; i < len(tc.edits); i += 2 {
				assert.Require(t, strings.Contains(running, tc.edits[i]), "nothing to edit: %s", tc.edits[i])
			}
			got, err := read(t, running).Update(read(t, strings.NewReplacer(tc.edits...).Replace(running)))
			if tc.wantErr != "" {
				assert.Error(t, tc.wantErr, err)
				return
			}
			assert.Must(t, err)
			assert.Deep(t, "", tc.want, got)
		})
	}
}
