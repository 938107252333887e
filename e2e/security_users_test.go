package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
)

// TestHostUsersFalse: the pod's root is nobody outside: each pod has a block of
// IDs of its own, and volumes look the same as without (A-SEC-6, A-VOL-2).
func TestHostUsersFalse(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	assert.Must(t, os.Chmod(outside, 0o755))
	const show = `
cat /proc/self/uid_map /proc/self/gid_map
touch /x /v/new /host/new
stat -c '%u %g %n' /v /v/new /sub/f /c/key /host/new /etc/hosts /dev/termination-log
id -u; id -G`
	got := shared.run(t, pod("users", `
restartPolicy: Never
hostUsers: false
securityContext: {fsGroup: 77, supplementalGroups: [55]}
volumes:
- {name: v, emptyDir: {}}
- {name: host, hostPath: {path: `+outside+`}}
- {name: c, configMap: {name: c}}
initContainers:
`+shell("init", "mkdir /v/sub; touch /v/sub/f", mountV)+`
containers:
`+shell("main", show, `
volumeMounts:
- {name: v, mountPath: /v}
- {name: v, mountPath: /sub, subPath: sub}
- {name: host, mountPath: /host}
- {name: c, mountPath: /c}`))+"\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {key: value}\n")
	assert.Require(t, got.code == 0, "exit code %d\n%s%s", got.code, got.stdout, got.stderr)
	lines := strings.Split(strings.ReplaceAll(got.stdout, "main | ", ""), "\n")
	var inside, first, length uint32
	_, err := fmt.Sscan(lines[0], &inside, &first, &length)
	assert.Require(t, err == nil, "%v in\n%s", err, got.stdout)
	assert.True(t, inside == 0 && first >= 65536 && first%65536 == 0 && length == 65536 && lines[1] == lines[0],
		"A-SEC-6 user and group mappings:\n%s\n%s", lines[0], lines[1])
	want := "0 77 /v\n0 77 /v/new\n0 77 /sub/f\n0 77 /c/key\n0 0 /host/new\n0 0 /etc/hosts\n0 0 /dev/termination-log\n0\n0 55 77\n"
	text := strings.Join(lines[2:], "\n")
	assert.True(t, text == want, "A-VOL-2 owners:\n%s\nwant\n%s", text, want)
	assert.NoError(t, assert.ErrorOf(os.Stat(filepath.Join(outside, "new"))))
}

// TestUserNamespacesDiffer: two pods of one root at a time have different IDs.
func TestUserNamespacesDiffer(t *testing.T) {
	t.Parallel()
	var maps []string
	for _, name := range []string{"first", "second"} {
		c := shared.startRun(t, pod("users-"+name, "restartPolicy: Never\nhostUsers: false\ncontainers:\n"+
			shell("main", "cat /proc/self/uid_map; exec sleep --on-term=0 60", "resources: {limits: {memory: 64Mi}}")))
		maps = append(maps, c.await(c.stdout, `^ +0 +\d+ +65536$`))
	}
	assert.True(t, maps[0] != maps[1], "A-SEC-6 both pods have %q", maps[0])
}

// TestProcMount: with Unmasked, which the API allows only in a user namespace,
// nothing of /proc is hidden or read-only (A-SEC-5).
func TestProcMount(t *testing.T) {
	t.Parallel()
	for mount, want := range map[string]string{"Default": "hidden", "Unmasked": "seen"} {
		t.Run(mount, func(t *testing.T) {
			t.Parallel()
			got := shared.run(t, pod("proc-"+strings.ToLower(mount), "restartPolicy: Never\nhostUsers: false\ncontainers:\n"+
				shell("main", "if grep -q ' /proc/interrupts ' /proc/self/mountinfo && grep -q ' /proc/sys ' /proc/self/mountinfo; then echo hidden; else echo seen; fi",
					"securityContext: {procMount: "+mount+"}")))
			got.want(t, 0, want+"\n") // A-SEC-5
		})
	}
}
