package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
)

// TestSeccompLocalhost: a profile of the machine, below the root's folder
// seccomp, decides which calls a container may make (A-SEC-4).
func TestSeccompLocalhost(t *testing.T) {
	t.Parallel()
	profile := filepath.Join(shared.dir, "seccomp", "profiles", "no-mkdir.json")
	assert.Must(t, os.MkdirAll(filepath.Dir(profile), 0o755))
	const text = `{"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [{"names": ["mkdir", "mkdirat"], "action": "SCMP_ACT_ERRNO"}]}`
	assert.Must(t, os.WriteFile(profile, []byte(text), 0o600))
	const localhost = "securityContext: {seccompProfile: {type: Localhost, localhostProfile: profiles/no-mkdir.json}}"
	got := shared.run(t, pod("localhost", "restartPolicy: Never\n"+localhost+"\ncontainers:\n"+
		shell("confined", "mkdir /d 2>&1 || true")+
		shell("free", "mkdir /d && echo made", "securityContext: {seccompProfile: {type: Unconfined}}")))
	for _, want := range []string{"confined | /d: mkdir /d: operation not permitted", "free | made"} {
		assert.True(t, strings.Contains(got.stdout, want), "A-SEC-4 no %q in exit code %d\n%s%s", want, got.code, got.stdout, got.stderr)
	}
}

// TestSupplementalGroupsPolicy: the runtime takes both policies; the image has
// no groups by which they would differ (A-SEC-3).
func TestSupplementalGroupsPolicy(t *testing.T) {
	t.Parallel()
	for _, policy := range []string{"Merge", "Strict"} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			got := shared.run(t, pod("groups-"+strings.ToLower(policy), `
restartPolicy: Never
securityContext: {runAsUser: 1000, runAsGroup: 3000, supplementalGroups: [60000], supplementalGroupsPolicy: `+policy+`}
containers:
`+shell("main", "id -G")))
			got.want(t, 0, "3000 60000\n") // A-SEC-3
		})
	}
}

// TestSELinuxOptions: without SELinux they are without effect, which is said;
// the pod runs all the same, as in Kubernetes.
func TestSELinuxOptions(t *testing.T) {
	t.Parallel()
	_, err := os.Stat("/sys/fs/selinux/enforce")
	enforced := err == nil
	got := shared.run(t, pod("selinux", "restartPolicy: Never\nsecurityContext: {seLinuxOptions: {level: 's0:c1,c2'}, seLinuxChangePolicy: Recursive}\ncontainers:\n"+shell("main", "echo ran")))
	warned := strings.Contains(got.stderr, "warning: seLinuxOptions have no effect: SELinux is not enabled on this machine")
	assert.True(t, got.code == 0 && got.stdout == "ran\n" && warned != enforced, "exit code %d: %s%s", got.code, got.stdout, got.stderr)
}

// TestHostNamespaces: the pod sees the machine's processes and IPC objects if
// it asks for them (A-CRI-5).
func TestHostNamespaces(t *testing.T) {
	t.Parallel()
	const show = "readlink /proc/self/ns/pid; readlink /proc/self/ns/ipc; readlink /proc/self/ns/net"
	var host []string
	for _, kind := range []string{"pid", "ipc", "net"} {
		link := assert.Get(os.Readlink("/proc/self/ns/" + kind)).Must(t)
		host = append(host, link)
	}
	for _, shares := range []bool{true, false} {
		name, spec := "own", ""
		if shares {
			name, spec = "host", "hostPID: true\nhostIPC: true\nhostNetwork: true\n"
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := shared.run(t, pod("namespaces-"+name, "restartPolicy: Never\n"+spec+"containers:\n"+shell("main", show)))
			lines := strings.Fields(got.stdout)
			assert.Require(t, got.code == 0 && len(lines) == len(host), "exit code %d: %s%s", got.code, got.stdout, got.stderr)
			for i := range host {
				assert.True(t, (lines[i] == host[i]) == shares, "A-CRI-5 namespace %s, the machine's is %s", lines[i], host[i])
			}
		})
	}
}

// TestRuntimeClass: a class of the manifest, a handler of the runtime by its
// name, and neither (A-CRI-13).
func TestRuntimeClass(t *testing.T) {
	t.Parallel()
	const class = "\n---\napiVersion: node.k8s.io/v1\nkind: RuntimeClass\nmetadata: {name: mine}\nhandler: runc\noverhead: {podFixed: {memory: 16Mi}}\n"
	for name, more := range map[string]string{"mine": class, "runc": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := shared.run(t, pod("class-"+name, "restartPolicy: Never\nruntimeClassName: "+name+"\ncontainers:\n"+shell("main", "echo ran"))+more)
			got.want(t, 0, "ran\n") // A-CRI-13
		})
	}
	c := shared.startRun(t, pod("class-unknown", "restartPolicy: Never\nruntimeClassName: gvisor\ncontainers:\n"+shell("main", "echo ran")), "-v")
	c.await(c.stderr, `event Warning FailedCreatePodSandBox pod: Failed to create pod sandbox: runtimeclass\.node\.k8s\.io "gvisor" not found`)
	c.signal(os.Interrupt)
	assert.Deep(t, "A-CRI-13 the pod ran", "", c.wait().stdout)
}
