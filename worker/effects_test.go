package worker

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/lifecycle"
)

// TestEveryEffectHasARow: an effect whose answer the machine waits for is carried out, but
// for Publish, which the worker's sink answers.
func TestEveryEffectHasARow(t *testing.T) {
	file := assert.Get(parser.ParseFile(token.NewFileSet(), "../lifecycle/effect.go", nil, parser.SkipObjectResolution)).Must(t)
	want := []string{}
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Recv == nil || f.Name.Name != "EffectID" || len(f.Recv.List[0].Names) == 0 {
			continue // one without an ID does not name its receiver
		}
		if name := f.Recv.List[0].Type.(*ast.Ident).Name; name != "Publish" {
			want = append(want, name)
		}
	}
	got := []string{}
	for effect := range rows {
		got = append(got, effect.Name())
	}
	slices.Sort(want)
	slices.Sort(got)
	diff := cmp.Diff(want, got)
	assert.True(t, diff == "" && len(want) >= 20, "effects with an ID, and rows (-want +got):\n%s", diff)
}

// recordingLife notes statuses and events in their order.
type recordingLife struct {
	*life
	order []string
}

func (l *recordingLife) Status(status v1.PodStatus, step bool) {
	if c := status.ContainerStatuses[0]; c.State.Running != nil {
		l.order = append(l.order, fmt.Sprintf("running, restarts %d", c.RestartCount))
	} else if c.State.Waiting != nil && c.State.Waiting.Reason == "CrashLoopBackOff" {
		l.order = append(l.order, "waiting")
	}
	l.life.Status(status, step)
}

func (l *recordingLife) Event(at time.Time, e lifecycle.RecordEvent) {
	if e.Reason == "Started" || e.Reason == "BackOff" {
		l.order = append(l.order, e.Reason)
	}
	l.life.Event(at, e)
}

// An event comes after the status that it explains (A-EVT-7).
func TestEventsAfterStatuses(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		s.Program("main", "exit=1 after=1s", "exit=1 after=1s", "run")
		l := &recordingLife{life: s.newLife()}
		l.begin(s.ctx, s.node.NewWorker(podOf("web", v1.RestartPolicyAlways, "main"), l))
		l.await("restarted twice", restarts(2))
		l.ends(0)
		seen := map[string]bool{}
		first := slices.DeleteFunc(l.order, func(what string) bool { // a status may come again
			again := seen[what] && what != "Started"
			seen[what] = true
			return again
		})
		want := []string{"running, restarts 0", "Started", "running, restarts 1", "Started", "waiting", "BackOff", "running, restarts 2", "Started"}
		assert.Deep(t, "told", want, first)
	})
}

// TestHeldHooks: A-HOOK-2: it is said of what waits for the hook that its output is held, and of nothing else.
func TestHeldHooks(t *testing.T) {
	var h heldHooks
	h.Store("main", "held")
	waits := []lifecycle.Wait{
		{Subject: "main", For: lifecycle.WaitHook}, {Subject: "main", For: lifecycle.WaitPreStop},
		{Subject: "main", For: lifecycle.WaitGrace}, {Subject: "other", For: lifecycle.WaitHook},
	}
	h.addTo(waits)
	for i, want := range []string{"held", "held", "", ""} {
		assert.Deep(t, fmt.Sprintf("%s of %s", waits[i].For, waits[i].Subject), want, waits[i].Held)
	}
}
