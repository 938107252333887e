package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestDamagedCheckpoint: a checkpoint that can't be read stops nothing. It is
// said, what the killed lifepod left is removed, and the pod starts anew (B-RST-18).
func TestDamagedCheckpoint(t *testing.T) {
	t.Parallel()
	r := newRoot(t)
	manifest := pod("damaged", `
restartPolicy: Never
containers:
`+shell("main", "echo working; sleep 1000"))
	killed := r.startRun(t, manifest)
	killed.await(killed.stdout, "working")
	killed.await(killed.stderr, "pod Ready")
	killed.signal(syscall.SIGKILL)
	killed.wait()
	files, err := filepath.Glob(filepath.Join(r.dir, "runs", "*.checkpoint"))
	if err != nil || len(files) != 1 {
		t.Fatalf("checkpoints %v, %v", files, err)
	}
	if err := os.WriteFile(files[0], []byte("none"), 0o600); err != nil {
		t.Fatal(err)
	}
	again := r.startRun(t, manifest)
	again.await(again.stdout, "working")
	again.signal(syscall.SIGINT)
	again.signal(syscall.SIGINT)
	got := again.wait()
	if want := "can't go on with pod default/damaged"; got.code != 130 || !strings.Contains(got.stderr, want) {
		t.Errorf("exit code %d, want 130 and %q in\n%s", got.code, want, got.stderr)
	}
}
