package lifecycle

import (
	"testing"

	v1 "k8s.io/api/core/v1"
)

// A pod is blocked by what the runtime has refused, and waits for a runtime that says nothing.
func TestFailureBlocks(t *testing.T) {
	for class, want := range map[FailureClass]bool{Failed: true, NotFound: true, Uncertain: false, Unavailable: false, Cancelled: false} {
		if got := (&Failure{Class: class}).blocks(); got != want {
			t.Errorf("class %d blocks: %t", class, got)
		}
	}
}

// What each further attempt reports again is marked, so that the pod's story has it once.
func TestFailedAttemptsAreReportedOnce(t *testing.T) {
	for _, call := range []string{"EnsureCgroup", "MountVolumes", "CreateSandbox", "CreateContainer", "StartContainer"} {
		for _, class := range []FailureClass{Failed, Uncertain, Unavailable} {
			tr := playing(t, v1.PodSpec{Containers: []v1.Container{{Name: "a"}}})
			tr.settle(t, []string{call})
			reports := 0
			for _, e := range tr.m.Step(Event{At: tr.now, Fact: AnswerTo(tr.pending[0], &Failure{Class: class, Message: "busy"})}) {
				tell, is := e.(Tell)
				if !is || tell.Report.Message != "busy" {
					continue
				}
				if reports++; !tell.Report.Again {
					t.Errorf("%s, class %d: %q is told at each attempt", call, class, tell.Report)
				}
			}
			if reports != 1 {
				t.Errorf("%s, class %d: told %d times", call, class, reports)
			}
		}
	}
}
