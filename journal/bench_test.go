package journal

import (
	"testing"
	"time"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/lifecycle"
)

// BenchmarkStep is what a milestone costs the worker: its entries in the file. The budget is
// 1 ms.
func BenchmarkStep(b *testing.B) {
	w, err := Folder{Dir: b.TempDir()}.Writers().Create(Pod{UID: "u", Namespace: "default", Name: "web"})
	assert.Must(b, err)
	defer func() { _ = w.Close() }() // the folder goes
	report := lifecycle.Report{
		Subject: "main", Kind: lifecycle.KindExited, Code: 1, Reason: "Error", Outcome: lifecycle.ThenRestart, Span: 10 * time.Second,
		Because: lifecycle.Because{Kind: lifecycle.BecausePolicy, Policy: "Always", Nth: 2}, Rule: "A-RST-2",
	}
	effects := []lifecycle.Effect{
		lifecycle.Tell{Report: report},
		lifecycle.RecordEvent{Type: "Warning", Reason: "BackOff", Message: "Back-off restarting failed container main in pod web_default(uid-web)"},
	}
	for b.Loop() {
		fact := lifecycle.ContainerExited{ContainerID: "c", ExitCode: 1, Reason: "Error", FinishedAt: time.Unix(1, 0)}
		assert.Must(b, assert.ErrorOf(w.Step(time.Unix(1, 0), fact, effects)))
	}
}
