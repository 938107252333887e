package e2e

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
)

// TestEmptyDir is shared between containers and outlives their restarts.
func TestEmptyDir(t *testing.T) {
	t.Parallel()
	got := shared.run(t, pod("empty", `
restartPolicy: OnFailure
volumes: [{name: v, emptyDir: {}}]
containers:
`+shell("writer", "echo line >> /v/file; [ $(wc -l /v/file) = 2 ]", mountV)+
		shell("reader", `
until [ -e /v/file ] && [ $(wc -l /v/file) = 2 ]; do sleep 0.05; done
stat -c '%F %a' /v
write /v/readonly no 2>&1`, "volumeMounts: [{name: v, mountPath: /v, readOnly: true}]", "restartPolicy: Never")))
	assert.True(t, got.code == 1 && got.stdout == "reader | directory 777\nreader | write: open /v/readonly: read-only file system\n",
		"exit code %d\n%s\n%s", got.code, got.stdout, got.stderr)
}

// TestConfigVolumes: keys become files, with the modes and paths that are asked for.
func TestConfigVolumes(t *testing.T) {
	t.Parallel()
	manifest := `
apiVersion: v1
kind: ConfigMap
metadata: {name: conf}
data: {a.txt: "one\n", b.txt: "two\n"}
binaryData: {raw: AAEC}
---
apiVersion: v1
kind: Secret
metadata: {name: sec}
data: {key: c2VjcmV0}
---
` + pod("config-volumes", `
restartPolicy: Never
volumes:
- {name: all, configMap: {name: conf}}
- name: some
  configMap:
    name: conf
    defaultMode: 0440
    items: [{key: a.txt, path: deep/er/a}, {key: b.txt, path: b, mode: 0400}]
- {name: secret, secret: {secretName: sec, defaultMode: 0400}}
- {name: absent, configMap: {name: nowhere, optional: true}}
containers:
`+shell("main", `
cat /all/a.txt /all/b.txt
stat -L -c '%n %a %s' /all/a.txt /all/raw /some/deep/er/a /some/b /secret/key
ls /some /absent
cat /secret/key; echo
touch /all/new 2>/dev/null || echo config volumes are read-only`, `
volumeMounts:
- {name: all, mountPath: /all}
- {name: some, mountPath: /some}
- {name: secret, mountPath: /secret}
- {name: absent, mountPath: /absent}`))
	got := shared.run(t, manifest)
	want := `one
two
/all/a.txt 644 4
/all/raw 644 3
/some/deep/er/a 440 4
/some/b 400 4
/secret/key 400 6
/some:
b
deep
/absent:
secret
config volumes are read-only
`
	got.wantCode(t, 0)
	assert.Deep(t, "output", want, got.stdout)
}

func TestHostPath(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	assert.Must(t, os.WriteFile(filepath.Join(dir, "in"), []byte("from the host\n"), 0o644))
	got := shared.run(t, pod("host-path", `
restartPolicy: Never
volumes:
- {name: v, hostPath: {path: `+dir+`, type: Directory}}
- {name: new, hostPath: {path: `+dir+`/made, type: DirectoryOrCreate}}
containers:
`+shell("main", "cat /v/in; echo from the pod > /new/out", "volumeMounts: [{name: v, mountPath: /v}, {name: new, mountPath: /new}]")))
	got.want(t, 0, "from the host\n")
	out, err := os.ReadFile(filepath.Join(dir, "made/out"))
	assert.True(t, string(out) == "from the pod\n", "the host reads %q, %v", out, err)
}

// TestHostPathType: a path that isn't what the type says holds the pod up.
func TestHostPathType(t *testing.T) {
	t.Parallel()
	result := shared.runStory(t, 124, pod("host-path-type", `
restartPolicy: Never
volumes: [{name: v, hostPath: {path: /etc/passwd, type: Directory}}]
containers:
`+shell("main", "true", mountV)), "--timeout", "1s")
	found := false
	for _, o := range result {
		found = found || o.Type == "event" && o.Reason == "FailedMount"
	}
	assert.True(t, found, "no event FailedMount")
}
