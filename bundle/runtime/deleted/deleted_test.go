package deleted

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	taskapi "github.com/containerd/containerd/api/runtime/task/v3"
	"github.com/containerd/containerd/v2/pkg/protobuf"
	"google.golang.org/protobuf/proto"
)

// build makes a program of repeat.c whose own part says that it began.
func build(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "program")
	cmd := exec.Command("cc", "-static", "-Wall", "-Wextra", "-Werror", "-o", program, "repeat.c", "-x", "c", "testdata/main.c")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

const began = "began"

// clean executes the program as containerd does.
func clean(t *testing.T, program, bundle string, action ...string) string {
	t.Helper()
	cmd := exec.Command(program, append([]string{"-namespace", "k8s.io", "-id", "a", "-bundle", bundle}, action...)...)
	cmd.Dir = bundle
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func TestAnswerIsRepeated(t *testing.T) {
	program, bundle := build(t), t.TempDir()
	if out := clean(t, program, bundle, "delete"); out != began {
		t.Errorf("without an answer it says %q", out)
	}
	answer := &taskapi.DeleteResponse{
		Pid: 1<<32 - 1, ExitStatus: 1<<32 - 1, ExitedAt: protobuf.ToTimestamp(time.Date(9999, 12, 31, 23, 59, 59, 999999999, time.UTC)),
	}
	if err := Leave(bundle, answer); err != nil {
		t.Fatal(err)
	}
	var repeated taskapi.DeleteResponse
	if err := proto.Unmarshal([]byte(clean(t, program, bundle, "delete")), &repeated); err != nil || !proto.Equal(&repeated, answer) {
		t.Errorf("it repeats %v, want %v (%v)", &repeated, answer, err)
	}
	for _, action := range [][]string{nil, {"start"}} {
		if out := clean(t, program, bundle, action...); out != began {
			t.Errorf("asked for %q it says %q", action, out)
		}
	}
	if err := os.Truncate(filepath.Join(bundle, fileName), 0); err != nil { // the shim was killed as it wrote
		t.Fatal(err)
	}
	if out := clean(t, program, bundle, "delete"); out != began {
		t.Errorf("with an empty answer it says %q", out)
	}
}
