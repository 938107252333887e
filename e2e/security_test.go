package e2e

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestSecurity: what the process may do is what the securityContext says.
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
			if got.code != 0 {
				t.Errorf("exit code %d\n%s", got.code, got.stderr)
			}
			if diff := cmp.Diff(tc.want, got.stdout); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestRunAsNonRoot: an image that runs as root isn't started, and the status
// says why.
func TestRunAsNonRoot(t *testing.T) {
	t.Parallel()
	told := shared.runStory(t, 124, pod("non-root", `
restartPolicy: Never
securityContext: {runAsNonRoot: true}
containers:
`+shell("main", "true")), "--timeout", "1s")
	found := ""
	for _, status := range told.statuses() {
		if w := containerNamed(t, status, "main").State.Waiting; w != nil && w.Reason == "CreateContainerConfigError" {
			found = w.Message
		}
	}
	if !strings.Contains(found, "container has runAsNonRoot and image will run as root") {
		t.Errorf("message %q", found)
	}
}

// TestFSGroup: volumes belong to the pod's group.
func TestFSGroup(t *testing.T) {
	t.Parallel()
	got := shared.run(t, pod("fs-group", `
restartPolicy: Never
securityContext: {runAsUser: 1000, fsGroup: 77}
volumes: [{name: v, emptyDir: {}}]
containers:
`+shell("main", "touch /v/new; stat -c '%g %a' /v; stat -c '%u %g' /v/new", mountV)))
	if got.code != 0 || got.stdout != "77 2777\n1000 77\n" {
		t.Errorf("exit code %d: %s%s", got.code, got.stdout, got.stderr)
	}
}

// TestSharedProcesses: containers see each other's processes if they are to.
func TestSharedProcesses(t *testing.T) {
	t.Parallel()
	for _, shares := range []string{"true", "false"} {
		t.Run(shares, func(t *testing.T) {
			t.Parallel()
			got := shared.run(t, pod("processes", `
restartPolicy: Never
shareProcessNamespace: `+shares+`
volumes: [{name: v, emptyDir: {}}]
containers:
`+shell("other", "exec sleep --on-term=0 86400", "restartPolicy: Never")+
				shell("main", "sleep 1; ps | grep -c 'sleep --on-term=0 8640[0]'; ps | grep -c '[p]ause'")), "--timeout", "3s")
			want := "main | 0\nmain | 0\n"
			if shares == "true" {
				want = "main | 1\nmain | 1\n"
			}
			if got.stdout != want {
				t.Errorf("%s%s", got.stdout, got.stderr)
			}
		})
	}
}
