package lifecycle

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	gocmp "github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	"github.com/lifepod/lifepod/internal/assert"
)

// A walk logs its life as a transcript, which plays it again without the walk's world: the
// pod, the facts as they were, kills and adoptions.

// playFact carries out the verbs of such a transcript:
//
//	fact TYPE at=D    the fact in YAML, so long after the pod's begin
//	adopt-seen        the pod with its status, and what the runtime has, in YAML: another agent's pod is adopted
func (tr *transcript) playFact(t *testing.T, d *datadriven.TestData) {
	if d.Cmd == "adopt-seen" {
		var a adoption
		if err := yaml.UnmarshalStrict([]byte(d.Input), &a); err != nil {
			t.Fatalf("%s: %v", d.Pos, err)
		}
		tr.adopts(a.Pod, a.Seen)
		return
	}
	at, err := time.ParseDuration(stringArg(d, "at"))
	assert.Require(t, err == nil, "%s: at: %v", d.Pos, err)
	tr.now = tr.start.Add(at)
	f := tr.factArg(t, d)
	tr.answeredBy(f)
	tr.feed(f)
}

// adoption is what a machine is made of that adopts a pod.
type adoption struct {
	Pod  *v1.Pod
	Seen Observed
}

func (tr *transcript) factArg(t *testing.T, d *datadriven.TestData) Fact {
	for _, f := range everyFact(tr) {
		of := reflect.TypeOf(f)
		if of.Name() != d.CmdArgs[0].Key {
			continue
		}
		into := reflect.New(of)
		if err := yaml.UnmarshalStrict([]byte(d.Input), into.Interface()); err != nil {
			t.Fatalf("%s: %v", d.Pos, err)
		}
		return into.Elem().Interface().(Fact)
	}
	t.Fatalf("%s: there is no fact %s", d.Pos, d.CmdArgs[0].Key)
	return nil
}

// answeredBy takes the effect that a fact answers from those that wait for an answer.
func (tr *transcript) answeredBy(f Fact) {
	id := reflect.ValueOf(f).FieldByName("ID")
	if _, found := f.(VolumesFound); found || !id.IsValid() {
		return
	}
	tr.pending = slices.DeleteFunc(tr.pending, func(e Effect) bool { return e.EffectID() == EffectID(id.Int()) })
}

// TestLogOfAWalkIsPlayed: what a walk logs is a transcript of its life, which a machine without the walk's world lives again.
func TestLogOfAWalkIsPlayed(t *testing.T) {
	const enough = 60
	lives, verbs := 0, map[string]int{}
	rapid.Check(t, func(rt *rapid.T) {
		if lives++; lives > enough {
			return
		}
		log := &strings.Builder{}
		w := newWalk(rt, randomPod(rt), map[string]int{})
		w.log, w.faultRate, w.unhealthy = log, 3, 4
		w.feed(Accepted{})
		for range 150 {
			w.act()
		}
		tr := &transcript{}
		datadriven.RunTestFromString(t, log.String(), func(t *testing.T, d *datadriven.TestData) string {
			verbs[d.Cmd]++
			return tr.said(t, d)
		})
		diff := gocmp.Diff(string(textOf(t, w.m.Checkpoint())), string(textOf(t, tr.m.Checkpoint())))
		assert.True(t, diff == "", "the machine of the walk (-), of its transcript (+):\n%s", diff)
	})
	for _, verb := range []string{"pod", "fact", "crash", "adopt-seen"} {
		assert.True(t, verbs[verb] != 0, "no walk had the verb %s", verb)
	}
}

// worded is a text that is made only if it is shown.
type worded func() string

func (w worded) String() string { return w() }

// step logs what the machine is fed also if it panics then.
func (w *walk) step(ev Event) (effects []Effect) {
	defer func() { w.logs(func(tr *transcript) { tr.tellsFact(w.rt, ev.Fact, effects) }) }()
	return w.m.Step(ev)
}

// logs logs a part of the life, if it is one that is shown.
func (w *walk) logs(part func(*transcript)) {
	text := worded(func() string {
		w.transcript.m, w.transcript.now = w.m, w.now
		w.transcript.out.Reset()
		part(&w.transcript)
		return w.transcript.out.String()
	})
	if w.log != nil {
		fmt.Fprintln(w.log, text)
		return
	}
	w.rt.Logf("%s", text)
}

// tellsFact is a fact as the transcript has it, and its effects.
func (tr *transcript) tellsFact(t fataler, f Fact, effects []Effect) {
	if _, first := f.(Accepted); first {
		*tr = transcript{m: tr.m, start: tr.now, now: tr.now}
		verb := "pod"
		if tr.m.options.KeepRecords {
			verb += " keep"
		}
		pod := tr.m.Pod()
		says := map[string]any{"metadata": map[string]any{"labels": pod.Labels, "annotations": pod.Annotations}, "spec": pod.Spec}
		tr.printf("%s\n%s----\n", verb, yamlOf(t, says))
	} else {
		tr.printf("fact %s at=%s\n%s----\n", reflect.TypeOf(f).Name(), tr.now.Sub(tr.start), yamlOf(t, f))
	}
	tr.answeredBy(f)
	before := tr.out.Len()
	tr.shows(effects)
	if tr.out.Len() == before {
		tr.printf("(nothing)\n")
	}
}

func (tr *transcript) tellsKill() {
	tr.printf("crash\n----\n")
	if len(tr.pending) == 0 {
		tr.printf("(nothing)\n")
	}
	for _, e := range tr.pending {
		tr.printf("lost: %s\n", effectText(e))
	}
	tr.pending = nil
}

func (tr *transcript) tellsAdoption(t fataler, a adoption) {
	tr.printf("adopt-seen\n%s----\n(nothing)\n", yamlOf(t, a))
	tr.pending = nil
}

// yamlOf leaves out what says nothing.
func yamlOf(t fataler, of any) string {
	text, err := json.Marshal(sparse(reflect.ValueOf(of)))
	if err != nil {
		t.Fatalf("%T: %v", of, err)
	}
	var tree any
	if err := json.Unmarshal(text, &tree); err != nil {
		t.Fatalf("%T: %v", of, err)
	}
	text, err = yaml.Marshal(withoutNulls(tree))
	if err != nil {
		t.Fatalf("%T: %v", of, err)
	}
	return strings.TrimPrefix(string(text), "{}\n")
}

// sparse is a value of this package without the fields that are zero; others are as they are.
func sparse(v reflect.Value) any {
	switch here := reflect.TypeFor[Fact]().PkgPath(); {
	case v.Kind() == reflect.Pointer && v.Type().Elem().PkgPath() == here && !v.IsNil():
		return sparse(v.Elem())
	case v.Kind() == reflect.Slice && v.Type().Elem().PkgPath() == here:
		list := []any{}
		for i := range v.Len() {
			list = append(list, sparse(v.Index(i)))
		}
		return list
	case v.Kind() == reflect.Struct && v.Type().PkgPath() == here:
		fields := map[string]any{}
		for i := range v.NumField() {
			field := v.Type().Field(i)
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			switch {
			case v.Field(i).IsZero():
			case field.Anonymous:
				maps.Copy(fields, sparse(v.Field(i)).(map[string]any))
			default:
				fields[cmp.Or(name, field.Name)] = sparse(v.Field(i))
			}
		}
		return fields
	}
	return v.Interface()
}

func withoutNulls(tree any) any {
	switch tree := tree.(type) {
	case map[string]any:
		maps.DeleteFunc(tree, func(_ string, v any) bool { return v == nil })
		for key := range tree {
			tree[key] = withoutNulls(tree[key])
		}
	case []any:
		for i := range tree {
			tree[i] = withoutNulls(tree[i])
		}
	}
	return tree
}

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
			tr.runtime.carryOut(e, tr.now)
			what = "done"
		}
		tr.printf("%s: %s\n", what, effectText(e))
	}
	restored, err := Restore(tr.accepted, tr.m.options, throughJSON(t, tr.saved.Checkpoint()))
	assert.Require(t, err == nil, "%s: %v", d.Pos, err)
	tr.m, tr.pending, tr.wakeAt = restored, nil, time.Time{}
}
