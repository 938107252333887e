package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/lifepod/lifepod/internal/assert"
)

// TestWritableLayers: what containers wrote beside their volumes goes with them,
// however soon lifepod ends after that.
func TestWritableLayers(t *testing.T) {
	t.Parallel()
	r := newRoot(t)
	const images = 2 // pause and toolbox, a layer each
	for range 3 {
		got := r.run(t, script("writes", "seq 1 100000 > /file"))
		assert.Require(t, got.code == 0, "exit code %d\n%s", got.code, got.stderr)
		layers := assert.Get(filepath.Glob(filepath.Join(r.dir, "containerd/io.containerd.snapshotter.v1.*/snapshots/*"))).Must(t)
		assert.True(t, len(layers) == images, "%d layers are left, the images have %d", len(layers), images)
	}
}

// TestFullDisk: while the disk of pods, logs and checkpoints is full, a pod goes
// on and restarts; what is told about the disk is told once. A lifepod that is to
// go on with it after a kill says that it has no room to, and does when there is
// some (B-RST-9, B-FIN-6).
func TestFullDisk(t *testing.T) {
	t.Parallel()
	r := newRoot(t)
	for _, name := range []string{"pods", "logs", "runs"} {
		dir := filepath.Join(r.dir, name)
		assert.Must(t, os.MkdirAll(dir, 0o700))
		assert.Must(t, unix.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"))
		t.Cleanup(func() {
			left, err := os.ReadDir(dir)
			assert.True(t, err == nil && len(left) == 0, "%s: left behind: %v, %v", dir, left, err)
			_ = unix.Unmount(dir, unix.MNT_DETACH)
		})
	}
	dir := t.TempDir()
	manifest := pod("full", `
restartPolicy: OnFailure
volumes: [{name: v, hostPath: {path: `+dir+`}}]
containers:
`+shell("main", "trap 'touch /v/ended; exit 0' TERM; touch /v/up; while true; do sleep 0.05; done", mountV)+
		shell("crasher", "[ -e /v/second ] && sleep infinity; until [ -e /v/full ]; do sleep 0.05; done; touch /v/second; exit 3", mountV))
	first := r.startRun(t, manifest)
	first.await(first.stderr, "pod Ready")
	full := []string{r.dir + "/pods/.ballast", r.dir + "/logs/.ballast", r.dir + "/runs/.ballast"}
	fill := func() {
		for _, ballast := range full {
			file := assert.Get(os.OpenFile(ballast, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)).Must(t)
			_, err := file.Write(make([]byte, 2<<20))
			assert.Require(t, err != nil, "%s: there is more room than there was to be", ballast)
			_ = file.Close()
		}
	}
	fill()
	writeFile(t, filepath.Join(dir, "full"))
	first.await(first.stderr, "1st restart")
	before := first.kill9()
	fill() // what it gave back meanwhile
	refused := r.run(t, manifest)
	for _, ballast := range full {
		assert.Must(t, os.Remove(ballast))
	}
	assert.True(t, refused.code == 125 && strings.Contains(refused.stderr, "lifepod: record of the pod: write "),
		"on a full disk: exit code %d\n%s", refused.code, refused.stderr)
	second := r.resume(t, manifest)
	second.signal(syscall.SIGINT)
	got := second.wait()
	for _, stderr := range []string{before.stderr, got.stderr} {
		n := strings.Count(stderr, "no space left on device") // once in the log, once to the user
		assert.True(t, n <= 2, "told %d times:\n%s", n, stderr)
	}
	_, err := os.Stat(filepath.Join(dir, "ended"))
	assert.True(t, got.code == 130 && err == nil, "exit code %d, %v\n%s", got.code, err, got.stderr)
}
