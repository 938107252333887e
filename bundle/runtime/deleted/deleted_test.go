package deleted

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	taskapi "github.com/containerd/containerd/api/runtime/task/v3"
	"github.com/containerd/containerd/v2/pkg/protobuf"
	"google.golang.org/protobuf/proto"

	"github.com/lifepod/lifepod/bundle/runtime/internal/assert"
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
	return string(assert.Get(cmd.Output()).Must(t))
}

func TestAnswerIsRepeated(t *testing.T) {
	program, bundle := build(t), t.TempDir()
	assert.Equal(t, began, clean(t, program, bundle, "delete"), "without an answer it says")
	answer := &taskapi.DeleteResponse{
		Pid: 1<<32 - 1, ExitStatus: 1<<32 - 1, ExitedAt: protobuf.ToTimestamp(time.Date(9999, 12, 31, 23, 59, 59, 999999999, time.UTC)),
	}
	assert.Must(t, Leave(bundle, answer))
	var repeated taskapi.DeleteResponse
	if err := proto.Unmarshal([]byte(clean(t, program, bundle, "delete")), &repeated); err != nil || !proto.Equal(&repeated, answer) {
		t.Errorf("it repeats %v, want %v (%v)", &repeated, answer, err)
	}
	for _, action := range [][]string{nil, {"start"}} {
		assert.Equal(t, began, clean(t, program, bundle, action...), "asked for %q it says", action)
	}
	if err := os.Truncate(filepath.Join(bundle, fileName), 0); err != nil { // the shim was killed as it wrote
		t.Fatal(err)
	}
	assert.Equal(t, began, clean(t, program, bundle, "delete"), "with an empty answer it says")
}

// tasks is a task service that deletes what is not called "running".
type tasks struct{ taskapi.TTRPCTaskService }

func (tasks) Delete(_ context.Context, r *taskapi.DeleteRequest) (*taskapi.DeleteResponse, error) {
	if r.ID == "running" {
		return nil, errors.New("it runs")
	}
	return &taskapi.DeleteResponse{Pid: 1}, nil
}

// Only of what is deleted, nothing is left to clean up.
func TestAnswersOfDeletions(t *testing.T) {
	bundles := t.TempDir()
	for _, id := range []string{"sandbox", "deleted", "running", "executed"} {
		assert.Must(t, os.Mkdir(filepath.Join(bundles, id), 0o700))
	}
	t.Chdir(filepath.Join(bundles, "sandbox"))
	for _, r := range []*taskapi.DeleteRequest{{ID: "deleted"}, {ID: "running"}, {ID: "executed", ExecID: "probe"}} {
		_, err := Service{tasks{}}.Delete(t.Context(), r)
		assert.True(t, (err != nil) == (r.ID == "running"), "%s: %v", r.ID, err)
		if _, err := os.Stat(filepath.Join(bundles, r.ID, fileName)); (err == nil) != (r.ID == "deleted") {
			t.Errorf("%s: %v", r.ID, err)
		}
	}
}
