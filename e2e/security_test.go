package e2e

import (
	"os"
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
)

// TestSecurity: what the process may do is what the securityContext says
// (A-SEC-1, A-SEC-3, A-SEC-4).
func TestSecurity(t *testing.T) {
	t.Parallel()
	const show = `
id -u; id -g; id -G
grep -E '^(CapEff|NoNewPrivs|Seccomp):' /proc/self/status
touch /probe 2>&1 || true`
	const defaultCapabilities = "CapEff:\t00000000a80425fb"
	for _, tc := range []struct {
		name, pod, container string
		want                 string
	}{
		{name: "default", want: "0\n0\n0\n" + defaultCapabilities + "\nNoNewPrivs:\t0\nSeccomp:\t2\n"},
		{
			name: "user", pod: "securityContext: {runAsUser: 1234, runAsGroup: 99, fsGroup: 77, supplementalGroups: [55]}",
			want: "1234\n99\n99 55 77\nCapEff:\t0000000000000000\nNoNewPrivs:\t0\nSeccomp:\t2\n" +
				"touch: open /probe: permission denied\n",
		},
		{
			name: "restricted",
			container: `
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL], add: [NET_BIND_SERVICE]}`,
			want: "0\n0\n0\nCapEff:\t0000000000000400\nNoNewPrivs:\t1\nSeccomp:\t2\n" +
				"touch: open /probe: read-only file system\n",
		},
		{
			name: "unconfined", container: "securityContext: {seccompProfile: {type: Unconfined}}",
			want: "0\n0\n0\n" + defaultCapabilities + "\nNoNewPrivs:\t0\nSeccomp:\t0\n",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got := shared.run(t, pod("security-"+tc.name, "restartPolicy: Never\n"+tc.pod+"\ncontainers:\n"+shell("main", show, tc.container)))
			got.wantCode(t, 0)
			assert.Deep(t, "", tc.want, got.stdout)
		})
	}
}

// TestRunAsNonRoot: an image that runs as root isn't started, and the status
// says why (A-SEC-2).
func TestRunAsNonRoot(t *testing.T) {
	t.Parallel()
	c := shared.startRun(t, pod("non-root", `
restartPolicy: Never
securityContext: {runAsNonRoot: true}
containers:
`+shell("main", "echo ran")), "-o", "json")
	c.await(c.stdout, `"reason":"CreateContainerConfigError","message":"container has runAsNonRoot and image will run as root `)
	c.signal(os.Interrupt)
	assert.True(t, readStory(t, c.wait().stdout).output("main") == "", "A-SEC-2 it ran")
}

// TestFSGroup: volumes belong to the pod's group (A-SEC-3).
func TestFSGroup(t *testing.T) {
	t.Parallel()
	got := shared.run(t, pod("fs-group", `
restartPolicy: Never
securityContext: {runAsUser: 1000, fsGroup: 77}
volumes: [{name: v, emptyDir: {}}]
containers:
`+shell("main", "touch /v/new; stat -c '%g %a' /v; stat -c '%u %g' /v/new", mountV)))
	got.want(t, 0, "77 2777\n1000 77\n")
}

// TestSharedProcesses: containers see each other's processes if they are to (A-CRI-5).
func TestSharedProcesses(t *testing.T) {
	t.Parallel()
	for _, shares := range []string{"true", "false"} {
		t.Run(shares, func(t *testing.T) {
			t.Parallel()
			c := shared.startRun(t, pod("processes-"+shares, `
restartPolicy: Never
shareProcessNamespace: `+shares+`
volumes: [{name: v, emptyDir: {}}]
containers:
`+shell("other", "touch /v/up; exec sleep --on-term=0 86400", mountV)+
				shell("main", "until ls /v/up >/dev/null 2>&1; do sleep 0.1; done; ps | grep -c 'sleep --on-term=0 8640[0]'; ps | grep -c '[p]ause'; echo seen", mountV)))
			c.await(c.stdout, `main \| seen`)
			c.signal(os.Interrupt)
			want := "main | 0\nmain | 0\nmain | seen\n"
			if shares == "true" {
				want = "main | 1\nmain | 1\nmain | seen\n"
			}
			got := c.wait()
			assert.True(t, got.stdout == want, "A-CRI-5 %s%s", got.stdout, got.stderr)
		})
	}
}
