package run

import (
	"os"
	"path/filepath"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifepod/lifepod/host"
	"github.com/lifepod/lifepod/internal/assert"
)

func testRecord(t *testing.T, runtime *host.Runtime) *record {
	t.Helper()
	r := assert.Get(newRecord(runtime, &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "1"}}, "")).Must(t)
	return r
}

func recordPath(runtime *host.Runtime) string {
	return filepath.Join(recordsDir(runtime.Root), "1.json")
}

func TestAbandoned(t *testing.T) {
	runtime := &host.Runtime{Root: filepath.Join(t.TempDir(), "root[1]*")} // no pattern, whatever it looks like
	own := testRecord(t, runtime)
	if list, err := records(runtime.Root); err != nil || len(list) != 1 || list[0].path != recordPath(runtime) {
		t.Errorf("%v, %v, want %q", list, err, recordPath(runtime))
	}
	if r, err := abandoned(recordPath(runtime)); r != nil || err != nil {
		t.Errorf("while its lifepod lives: %v, %v", r, err)
	}
	own.leave()
	r, err := abandoned(recordPath(runtime))
	if r == nil || err != nil || r.Name != "web" || r.UID != "1" {
		t.Fatalf("a killed lifepod's: %+v, %v", r, err)
	}
	r.leave()
}

// B-RST-9: a record that was opened before its pod was taken over is not that of
// an abandoned pod: whoever sweeps up would kill a pod that lives.
func TestTakenOverIsNotAbandoned(t *testing.T) {
	runtime := &host.Runtime{Root: t.TempDir()}
	killed := testRecord(t, runtime)
	seen, err := os.Open(recordPath(runtime)) // by one that looks for what was left
	assert.Must(t, err)
	next := testRecord(t, runtime) // takes its place
	defer next.leave()
	killed.leave()
	r, err := abandonedFile(seen, recordPath(runtime))
	assert.True(t, r == nil && err == nil, "got %+v, %v, want none: a lifepod has it", r, err)
}
