package agent

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/lifepod/lifepod/e2e/machine"
)

// startRuntime starts a container runtime that the programs of a node use one
// after the other: the one that lifepod carries, run by a lifepod without pods. It
// ends with the test. The result is its endpoint.
func startRuntime(t *testing.T) string {
	t.Helper()
	root, empty := machine.Root{Dir: t.TempDir()}, t.TempDir()
	process, err := machine.StartProcess(exec.Command(binary, "agent", "--root="+root.Dir, "--manifests="+empty),
		filepath.Join(empty, ".log"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the end of the log of the runtime:\n%s", process.LastLines(20))
		}
		if err := process.Signal(syscall.SIGTERM); err != nil {
			t.Error(err)
		}
		<-process.Ended()
		if out, err := exec.Command(binary, "doctor", "--sweep", "--root", root.Dir).CombinedOutput(); err != nil && len(root.Left()) > 0 {
			t.Errorf("sweep up after the runtime: %v\n%s", err, out)
		}
		for _, left := range root.Left() {
			t.Errorf("left of the runtime: %s", left)
		}
	})
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) { // nothing tells
		if bytes.Contains(process.LastLines(20), []byte("lifepod agent runs")) { // and the carried images are there
			return "unix://" + filepath.Join(root.RunDir(), "containerd.sock")
		}
		if process.HasEnded() || time.Now().After(deadline) {
			t.Fatalf("the runtime does not begin:\n%s", process.LastLines(20))
		}
	}
}
