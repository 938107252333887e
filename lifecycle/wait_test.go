package lifecycle

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/assert"
)

// printWaits prints what the pod and its containers wait for.
func (tr *transcript) printWaits() {
	for _, w := range tr.m.Waits() {
		tr.printf("%s: %s", w.Subject, w.For)
		if w.On != "" {
			tr.printf(" %s", w.On)
		}
		if !w.Since.IsZero() {
			tr.printf(" since %s", tr.clock(w.Since))
		}
		if !w.Until.IsZero() {
			tr.printf(" until %s", tr.clock(w.Until))
		}
		if w.Because != "" {
			tr.printf(" (%s)", w.Because)
		}
		if w.Group != nil {
			text, _ := json.Marshal(w.Group) // it can't fail
			tr.printf(" %s", text)
		}
		tr.printf("  [%s]\n", w.Rule)
	}
}

// waitsAreLawful: a pod that lives and is not Ready, or that is ending, waits for something.
func waitsAreLawful(t fataler, m *Machine) {
	waits := m.Waits()
	for _, w := range waits {
		if w.For == "" || w.Rule == "" || w.Subject != ofPod && m.containerNamed(w.Subject) == nil {
			t.Fatalf("a wait says too little: %+v", w)
		}
	}
	ready, over := isTrue(m.kept.Reported.Conditions, v1.PodReady), m.kept.Stage == Gone || m.Resting()
	if len(waits) == 0 && !m.kept.StartTime.IsZero() && !over && (!ready || m.kept.Stage != Syncing) {
		t.Fatalf("the pod waits for nothing in stage %v, and is not Ready: sandbox %v, setup %+v, claims %+v, stop %+v", m.kept.Stage, m.sandbox, m.setup, m.claims, m.stop)
	}
}

// TestEveryKindOfWaitIsShown: each of them is in a transcript.
func TestEveryKindOfWaitIsShown(t *testing.T) {
	file := assert.Get(parser.ParseFile(token.NewFileSet(), "wait.go", nil, 0)).Must(t)
	paths := assert.Get(filepath.Glob("testdata/waits_*")).Must(t)
	var shown strings.Builder
	for _, path := range paths {
		text := assert.Get(os.ReadFile(path)).Must(t)
		shown.Write(text)
	}
	kinds := 0
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(spec.Names[0].Name, "Wait") {
			return true
		}
		kind := assert.Get(strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)).Must(t)
		kinds++
		assert.True(t, strings.Contains(shown.String(), ": "+kind+" "), "no transcript shows that anything waits for %q", kind)
		return true
	})
	assert.True(t, kinds >= 30, "only %d kinds of waits were found", kinds)
}

// A pod is blocked by what the runtime has refused, and waits for a runtime that says nothing.
func TestFailureBlocks(t *testing.T) {
	for class, want := range map[FailureClass]bool{Failed: true, NotFound: true, Uncertain: false, Unavailable: false, Cancelled: false} {
		got := (&Failure{Class: class}).blocks()
		assert.True(t, got == want, "class %d blocks: %t", class, got)
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
			assert.True(t, reports == 1, "%s, class %d: told %d times", call, class, reports)
		}
	}
}
