package roster

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/roster/admit"
)

// matrixFile brings a pod to every position, and has every fact fed there: what each
// does is written down in it.
const matrixFile = "testdata/matrix"

// TestMatrix plays the matrix, which must have every position and reason, feed every
// type of fact and bring every type of effect.
func TestMatrix(t *testing.T) {
	tr := &transcript{facts: map[string]bool{}, effects: map[string]bool{}}
	tr.run(t, matrixFile)
	for method, seen := range map[string]map[string]bool{"apply": tr.facts, "effect": tr.effects} {
		declared := declaredWith(t, method)
		assert.True(t, len(declared) != 0, "no type has a method %s", method)
		for _, name := range declared {
			assert.True(t, seen[name], "%s is nowhere in the matrix", name)
		}
	}
	text := assert.Get(os.ReadFile(matrixFile)).Must(t)
	for position := Unheard; position <= Over; position++ {
		assert.True(t, strings.Contains(string(text), "\n# "+position.String()), "position %s has no place in the matrix", position)
	}
	for _, reason := range []Reason{ForName, ForMirror, ForNode, ForVictims, ForDevices, ForRoom} {
		assert.True(t, strings.Contains(string(text), "waiting for "+string(reason)), "no pod of the matrix waits for %s", reason)
	}
}

// declaredWith are the types of the package that have a method of that name.
func declaredWith(t *testing.T, method string) []string {
	entries := assert.Get(os.ReadDir(".")).Must(t)
	var names []string
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		file := assert.Get(parser.ParseFile(token.NewFileSet(), e.Name(), nil, 0)).Must(t)
		for _, d := range file.Decls {
			if f, is := d.(*ast.FuncDecl); is && f.Name.Name == method && f.Recv != nil {
				names = append(names, f.Recv.List[0].Type.(*ast.Ident).Name)
			}
		}
	}
	return names
}

// saw notes the type of an effect.
func (tr *transcript) saw(e Effect) {
	if tr.effects != nil {
		tr.effects[strings.TrimPrefix(fmt.Sprintf("%T", e), "roster.")] = true
	}
}

// everyFact feeds each kind of fact to a copy of the machine and prints where the pod
// stands then and what else follows; facts that do nothing are listed last. Each is fed
// twice: whatever comes, the machine keeps its laws.
func (tr *transcript) everyFact() {
	pod, idle := tr.pods[tr.uid()], []string{}
	fmt.Fprintf(&tr.out, "%s\n", placeText(tr.m, pod.pod))
	for _, f := range factsOf(pod, tr) {
		if tr.facts != nil {
			tr.facts[strings.TrimPrefix(fmt.Sprintf("%T", f.fact), "roster.")] = true
		}
		lines := tr.tries(f, pod.pod)
		if len(lines) == 0 {
			idle = append(idle, f.name)
			continue
		}
		for i, line := range lines {
			if i > 0 {
				f.name = ""
			}
			fmt.Fprintf(&tr.out, "%-24s %s\n", f.name, line)
		}
	}
	fmt.Fprintf(&tr.out, "nothing: %s\n", strings.Join(idle, " · "))
}

// tries feeds a fact to a copy of the machine and says what that has changed.
func (tr *transcript) tries(f namedFact, pod *v1.Pod) (lines []string) {
	m, now := tr.m.Clone(), tr.now.Add(time.Millisecond)
	if _, woke := f.fact.(Woke); woke && tr.wakeAt.After(now) {
		now = tr.wakeAt
	}
	effects := m.Step(Event{At: now, Fact: f.fact})
	if place := placeText(m, pod); place != placeText(tr.m, pod) {
		lines = append(lines, "→ "+place)
	}
	for _, e := range effects {
		tr.saw(e)
		lines = append(lines, "  "+effectText(e))
	}
	stepLaws(tr.t, m)
	booksLaws(tr.t, m)
	m.Step(Event{At: now.Add(time.Millisecond), Fact: f.fact})
	stepLaws(tr.t, m)
	booksLaws(tr.t, m)
	return lines
}

// namedFact is a fact as the matrix calls it.
type namedFact struct {
	name string
	fact Fact
}

// factsOf is each kind of fact about a pod.
func factsOf(d *described, tr *transcript) []namedFact {
	uid, updated, deleted, larger, huge := d.pod.UID, d.pod.DeepCopy(), d.pod.DeepCopy(), d.pod.DeepCopy(), d.pod.DeepCopy()
	updated.Labels = map[string]string{"a": "b"}
	deleted.DeletionTimestamp, deleted.DeletionGracePeriodSeconds = &metav1.Time{Time: tr.now.Add(5 * time.Second)}, new(int64(5))
	larger.Spec.Containers[0].Resources.Requests = cpus("4")
	huge.Spec.Containers[0].Resources.Requests = cpus("64")
	whole := d.pod.DeepCopy()
	whole.Spec.Resources = &v1.ResourceRequirements{Requests: cpus("2")}
	mirror := d.pod.DeepCopy()
	mirror.Status = statusOf(v1.PodRunning, "")
	return []namedFact{
		{"Opened", Opened{}}, {"Wanted", Wanted{d.source, updated}}, {"Wanted, being deleted", Wanted{d.source, deleted}}, {"Unwanted", Unwanted{uid}},
		{"Wanted, resized whole", Wanted{d.source, whole}},
		{"SourceHeard api", SourceHeard{API}}, {"SourceHeard file", SourceHeard{File}},
		{"NodeKnown", NodeKnown{tr.node}}, {"NodeRead", NodeRead{uid, nodeOf("4", map[string]string{"disk": ""})}}, {"NodeRead, unreadable", NodeRead{UID: uid}},
		{"FoundLater", FoundLater{Found{UID: uid, Namespace: d.pod.Namespace, Name: d.pod.Name, Seen: seenOf(0)}}},
		{"Allocated", Allocated{UID: uid}}, {"Allocated, short", Allocated{UID: uid, Refusal: &admit.Refusal{Reason: "UnexpectedAdmissionError"}, Lacks: gpu}},
		{"Looked, nothing there", Looked{UID: uid}}, {"Looked, there", Looked{UID: uid, Has: seenOf(0)}}, {"Looked, with a mirror", Looked{UID: uid, Mirror: mirror}},
		{"Resumed", Resumed{uid, statusOf(v1.PodRunning, "1")}}, {"NotResumed", NotResumed{uid, errUnreadable}},
		{"Recalled", Recalled{uid, d.remembered(false)}}, {"Recalled, to end", Recalled{uid, d.remembered(true)}}, {"Recalled, nothing", Recalled{UID: uid}},
		{"Published Running", Published{uid, statusOf(v1.PodRunning, "1")}}, {"Published Succeeded", Published{uid, statusOf(v1.PodSucceeded, "1")}},
		{"Rested", Rested{uid}}, {"NothingLeft", NothingLeft{uid}}, {"Ended", Ended{uid}}, {"Panicked", Panicked{uid, errPanic}},
		{"ResizeAsked", ResizeAsked{1, larger}}, {"ResizeAsked, too much", ResizeAsked{1, huge}},
		{"SpaceNeeded", SpaceNeeded{}}, {"ObjectsChanged", ObjectsChanged{uid, lifecycle.Because{Kind: lifecycle.BecauseChanged, Text: "ConfigMap c"}}}, {"Woke", Woke{}},
		{"ShutdownBegan", ShutdownBegan{}}, {"ShutdownCancelled", ShutdownCancelled{}}, {"StatusesFlushed", StatusesFlushed{}},
		{"NodeMeasured", tr.measured("memory.available=2Gi")}, {"NodeMeasured, short", tr.measured("memory.available=100Mi")},
		{"Reclaimed, enough", Reclaimed{tr.measured("nodefs.available=9Gi").Seen}}, {"Reclaimed", Reclaimed{}}, {"PodsMeasured", PodsMeasured{}},
	}
}
