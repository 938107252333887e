package lifecycle

import (
	"slices"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
)

// crash kills the lifepod of the transcript: only the checkpoint that it wrote last
// remains. What it had asked the runtime for was carried out or not.
func (tr *transcript) crash(t *testing.T, d *datadriven.TestData) {
	var done []string
	for _, a := range d.CmdArgs {
		if a.Key == "done" {
			done = a.Vals
		}
	}
	for _, e := range tr.pending {
		what := "lost"
		if slices.Contains(done, effectName(e)) {
			tr.runtime.carryOut(t, e, tr.now)
			what = "done"
		}
		tr.printf("%s: %s\n", what, effectText(e))
	}
	restored, err := Restore(tr.accepted, tr.m.options, throughJSON(t, tr.saved.Checkpoint()))
	if err != nil {
		t.Fatalf("%s: %v", d.Pos, err)
	}
	tr.m, tr.pending, tr.wakeAt = restored, nil, time.Time{}
}
