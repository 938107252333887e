package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lifepod/lifepod/internal/assert"
)

// TestDownwardAndProjected: the pod's own fields and several objects as files (A-ENV-8, A-VOL-5).
func TestDownwardAndProjected(t *testing.T) {
	t.Parallel()
	manifest := `
apiVersion: v1
kind: ConfigMap
metadata: {name: conf}
data: {a: "from the ConfigMap\n"}
---
apiVersion: v1
kind: Secret
metadata: {name: sec}
stringData: {key: "from the Secret\n"}
---
` + strings.Replace(pod("downward", `
restartPolicy: Never
volumes:
- name: info
  downwardAPI:
    defaultMode: 0440
    items:
    - {path: labels, fieldRef: {fieldPath: metadata.labels}}
    - {path: name, fieldRef: {fieldPath: metadata.name}, mode: 0400}
    - {path: memory, resourceFieldRef: {containerName: main, resource: limits.memory, divisor: 1Mi}}
- name: all
  projected:
    sources:
    - configMap: {name: conf, items: [{key: a, path: conf/a}]}
    - secret: {name: sec}
    - downwardAPI: {items: [{path: conf/ns, fieldRef: {fieldPath: metadata.namespace}}]}
containers:
`+shell("main", `
cat /info/labels; echo
cat /info/name /info/memory; echo
stat -L -c '%n %a' /info/labels /info/name
cat /all/conf/a /all/key /all/conf/ns; echo
write /all/new x 2>&1`, `
resources: {limits: {memory: 100Mi}}
volumeMounts: [{name: info, mountPath: /info}, {name: all, mountPath: /all}]`)),
		"  name: downward\n", "  name: downward\n  labels: {app: shop, tier: \"1\"}\n", 1)
	got := shared.run(t, manifest)
	want := `app="shop"
tier="1"
downward100
/info/labels 440
/info/name 400
from the ConfigMap
from the Secret
default
write: open /all/new: read-only file system
`
	diff := cmp.Diff(want, got.stdout)
	assert.True(t, diff == "", "exit code %d, output (-want +got):\n%s\n%s", got.code, diff, got.stderr)
}

// TestClaim: a second pod finds what the first one left in a claim, and the
// claim's folder is the host's to look into.
func TestClaim(t *testing.T) {
	t.Parallel()
	claim := `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: kept}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
`
	volumes := "restartPolicy: Never\nvolumes: [{name: v, persistentVolumeClaim: {claimName: kept}}]\n"
	first := shared.run(t, claim+pod("claim-first", volumes+"securityContext: {runAsUser: 1000, fsGroup: 2000}\ncontainers:\n"+
		shell("main", "echo kept > /v/file; stat -c %g /v/file", mountV)))
	assert.Require(t, first.code == 0 && first.stdout == "2000\n", "exit code %d: %s%s", first.code, first.stdout, first.stderr)
	assert.True(t, strings.Contains(first.stderr, "its size is not enforced"), "no word about the size:\n%s", first.stderr)
	second := shared.run(t, pod("claim-second", strings.Replace(volumes, "kept}", "kept, readOnly: true}", 1)+"containers:\n"+
		shell("main", "cat /v/file; write /v/more x 2>&1", mountV)))
	assert.True(t, second.stdout == "kept\nwrite: open /v/more: read-only file system\n",
		"exit code %d: %s%s", second.code, second.stdout, second.stderr)
	content, err := os.ReadFile(filepath.Join(shared.dir, "claims/default/kept/file"))
	assert.True(t, err == nil && string(content) == "kept\n", "the host reads %q, %v", content, err)
}

// TestFileKeyRef: an init container writes the variables of the next one (A-ENV-6).
func TestFileKeyRef(t *testing.T) {
	t.Parallel()
	got := shared.run(t, pod("file-key", `
restartPolicy: Never
volumes: [{name: v, emptyDir: {}}]
initContainers:
`+shell("ask", `echo "# found out
A='it is $(hostname)'" > /v/env`, mountV)+`
containers:
`+shell("main", `echo "$A, ${B-no B}, ${C-no C}"`, `
env:
- {name: A, valueFrom: {fileKeyRef: {volumeName: v, path: env, key: A}}}
- {name: B, valueFrom: {fileKeyRef: {volumeName: v, path: env, key: B, optional: true}}}
- {name: C, valueFrom: {fileKeyRef: {volumeName: v, path: no-such-file, key: C, optional: true}}}`)))
	assert.True(t, got.code == 0 && got.stdout == "main | it is file-key, no B, no C\n", "exit code %d: %s%s", got.code, got.stdout, got.stderr)
}

// TestSubPaths: a sub path is made with the volume's mode, subPathExpr takes
// variables, and a link out of the volume is refused without a word about the
// host's folders (A-VOL-3).
func TestSubPaths(t *testing.T) {
	t.Parallel()
	c := shared.start(t, pod("sub-paths", `
restartPolicy: Never
volumes: [{name: v, emptyDir: {}}]
initContainers:
`+shell("links", "ln -s / /v/out; ln -s ../../../.. /v/up", mountV)+
		shell("fine", "echo x > /a/file; stat -c '%n %a' /a /b; cat /b/file", `
env: [{name: NAME, value: made}]
volumeMounts:
- {name: v, mountPath: /a, subPath: made/deep}
- {name: v, mountPath: /b, subPathExpr: $(NAME)/deep, readOnly: true}`)+`
containers:
`+shell("main", "ls /o", "volumeMounts: [{name: v, mountPath: /o, subPath: out/etc}]")+
		shell("more", "ls /o", "volumeMounts: [{name: v, mountPath: /o, subPath: up}]")), "run", "-v", "-")
	for _, name := range []string{"main", "more"} {
		c.await(c.stderr, `Error: failed to prepare subPath for volumeMount "v" of container "`+name+`"`)
	}
	c.signal(syscall.SIGINT)
	got := c.wait()
	diff := cmp.Diff("fine | /a 777\nfine | /b 777\nfine | x\n", got.stdout)
	assert.True(t, diff == "", "exit code %d, output (-want +got):\n%s\n%s", got.code, diff, got.stderr)
}
