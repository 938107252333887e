package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/assert"
)

// mountTmpfs mounts a tmpfs that shares what is mounted below it.
func mountTmpfs(t *testing.T, dir string) {
	t.Helper()
	assert.Must(t, os.MkdirAll(dir, 0o755))
	assert.Must(t, syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"))
	assert.AtEnd(t, func() error { return syscall.Unmount(dir, syscall.MNT_DETACH) })
	assert.Must(t, syscall.Mount("", dir, "", syscall.MS_SHARED, ""))
}

// TestHostToContainer: what the host mounts later is seen in the container that
// asks for it, and in no other (A-VOL-2).
func TestHostToContainer(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "shared")
	mountTmpfs(t, dir)
	c := shared.startRun(t, pod("propagation", `
restartPolicy: Never
volumes: [{name: v, hostPath: {path: `+dir+`}}]
containers:
`+shell("main", "echo ready; until [ -e /v/sub/file ]; do sleep 0.05; done; ls /v/sub /none/sub",
		"volumeMounts: [{name: v, mountPath: /v, mountPropagation: HostToContainer}, {name: v, mountPath: /none}]")))
	c.await(c.stdout, "ready\n")
	mountTmpfs(t, filepath.Join(dir, "sub"))
	assert.Must(t, os.WriteFile(filepath.Join(dir, "sub", "file"), nil, 0o644))
	c.wait().want(t, 0, "ready\n/v/sub:\nfile\n/none/sub:\n")
}

// TestBidirectionalNeedsPrivileged: only a privileged container may mount for the host (A-VOL-2).
func TestBidirectionalNeedsPrivileged(t *testing.T) {
	t.Parallel()
	mounts := "volumeMounts: [{name: v, mountPath: /v, mountPropagation: Bidirectional}]"
	got := shared.run(t, pod("bidirectional", "volumes: [{name: v, emptyDir: {}}]\ncontainers:\n"+shell("main", "true", mounts)))
	if got.code != 125 || !strings.Contains(got.stderr, "spec.containers[0].volumeMounts.mountPropagation: Forbidden: Bidirectional mount propagation is available only to privileged containers") {
		t.Errorf("exit code %d: %s", got.code, got.stderr)
	}
	dir := filepath.Join(t.TempDir(), "shared")
	mountTmpfs(t, dir)
	got = shared.run(t, pod("bidirectional", `
restartPolicy: Never
volumes: [{name: v, hostPath: {path: `+dir+`}}]
containers:
`+shell("main", "grep ' /v ' /proc/self/mountinfo | grep -c shared:", mounts, "securityContext: {privileged: true}")))
	got.want(t, 0, "1\n")
}

// TestRecursiveReadOnly: what is mounted below a read-only volume is writable,
// unless the mount is recursively read-only; the status says which (A-CST-16).
func TestRecursiveReadOnly(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "outer")
	mountTmpfs(t, dir)
	mountTmpfs(t, filepath.Join(dir, "sub"))
	result := shared.runStory(t, 0, pod("recursive", `
restartPolicy: Never
volumes: [{name: v, hostPath: {path: `+dir+`}}]
containers:
`+shell("main", `
for p in /plain /possible /enabled; do
  write $p/x x 2>&1
  write $p/sub/x x 2>&1 && echo $p/sub can be written
done
echo`, `
volumeMounts:
- {name: v, mountPath: /plain, readOnly: true}
- {name: v, mountPath: /possible, readOnly: true, recursiveReadOnly: IfPossible}
- {name: v, mountPath: /enabled, readOnly: true, recursiveReadOnly: Enabled}`)))
	want := `write: open /plain/x: read-only file system
/plain/sub can be written
write: open /possible/x: read-only file system
write: open /possible/sub/x: read-only file system
write: open /enabled/x: read-only file system
write: open /enabled/sub/x: read-only file system

`
	assert.Deep(t, "output", want, result.output("main"))
	var modes []v1.RecursiveReadOnlyMode
	for _, m := range result.last(t).ContainerStatuses[0].VolumeMounts {
		modes = append(modes, *m.RecursiveReadOnly)
	}
	assert.Deep(t, "status", []v1.RecursiveReadOnlyMode{"Disabled", "Enabled", "Enabled"}, modes)
}
