package lifecycle

import (
	"bytes"
	"encoding/json"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// FuzzRestore damages the checkpoints of a life with everything in it. Restore must
// refuse them, or make a machine that takes any fact without a panic and can be saved and
// restored again (B-RST-9).
func FuzzRestore(f *testing.F) {
	pods := slices.Sorted(maps.Keys(matrixPods))
	var lives [][]string
	for _, name := range pods {
		lives = append(lives, checkpointsOf(f, matrixPods[name]))
	}
	for n := range 40 {
		f.Add(uint16(n*37), []byte{byte(n), byte(n * 7), byte(n * 3)}, uint64(n))
	}
	f.Fuzz(func(t *testing.T, start uint16, damage []byte, lots uint64) {
		which := int(start) % len(pods)
		life := lives[which]
		var tree any
		if err := json.Unmarshal([]byte(life[int(start)/len(pods)%len(life)]), &tree); err != nil {
			t.Fatal(err)
		}
		for len(damage) >= 3 {
			spoil(&tree, int(damage[0]), damage[1], damage[2])
			damage = damage[3:]
		}
		text, err := json.Marshal(tree)
		if err != nil {
			t.Fatal(err)
		}
		var c Checkpoint
		if json.Unmarshal(text, &c) != nil {
			return
		}
		m, err := Restore(podOf(t, matrixPods[pods[which]]), DefaultOptions(), c)
		if (m == nil) == (err == nil) {
			t.Fatalf("Restore gave %v and %v", m, err)
		}
		if err == nil {
			liveOn(t, m, rand.New(rand.NewPCG(lots, 0)))
		}
	})
}

// liveOn feeds whatever can happen, right or wrong.
func liveOn(t *testing.T, m *Machine, lots *rand.Rand) {
	tr := &transcript{m: m, now: time.Date(2026, 1, 1, 0, 10, 0, 0, time.UTC)}
	f := Fact(Resumed{})
	var asked []Effect
	var saved Checkpoint
	var text []byte
	for i := range 200 {
		if i%10 == 0 {
			if again := textOf(t, saved); i > 0 && !bytes.Equal(text, again) {
				t.Fatalf("a checkpoint changes with later steps:\n%s\n%s", text, again)
			}
			saved = tr.m.Checkpoint()
			text = textOf(t, saved)
		}
		tr.now = tr.now.Add([]time.Duration{time.Millisecond, time.Second, time.Minute}[lots.IntN(3)])
		for _, e := range tr.m.Step(Event{At: tr.now, Fact: f}) {
			if _, cancel := e.(Cancel); !cancel && e.EffectID() != 0 {
				asked = append(asked, e)
			}
		}
		asked = asked[max(0, len(asked)-8):]
		f = anyFact(tr, asked, lots)
	}
	if _, err := Restore(tr.m.Pod(), DefaultOptions(), throughJSON(t, tr.m.Checkpoint())); err != nil {
		t.Fatalf("its own checkpoint is refused: %v", err)
	}
}

func textOf(t *testing.T, c Checkpoint) []byte {
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// anyFact is mostly what a runtime answers, else anything.
func anyFact(tr *transcript, asked []Effect, lots *rand.Rand) Fact {
	if len(asked) > 0 {
		e := asked[lots.IntN(len(asked))]
		if lots.IntN(4) > 0 {
			return done(e, tr.now)
		}
		tr.pending = []Effect{e}
	}
	facts := everyFact(tr)
	switch f := facts[lots.IntN(len(facts))].(type) {
	case Accepted, Rejected: // those are only first events
		return Woke{}
	default:
		return f
	}
}

// done is the answer of a runtime in which everything works and nothing is kept.
func done(e Effect, now time.Time) Fact {
	switch e := e.(type) {
	case CreateContainer:
		return ContainerCreated{Result: Result{ID: e.ID}, ContainerID: idOf(e.Container, e.Attempt)}
	case StartContainer:
		return AnswerTo(e, nil)
	case StopContainer:
		return ContainerExited{ContainerID: e.ContainerID, ExitCode: 143, Reason: "Error", FinishedAt: now}
	}
	return newPretendedRuntime().carryOut(e, now)[0]
}

// checkpointsOf returns the distinct checkpoints of a life.
func checkpointsOf(f *testing.F, pod string) []string {
	var texts []string
	for _, p := range prefixes(f, pod) {
		text, err := json.Marshal(p.m.Checkpoint())
		if err != nil {
			f.Fatal(err)
		}
		if len(texts) == 0 || texts[len(texts)-1] != string(text) {
			texts = append(texts, string(text))
		}
	}
	return texts
}

func podOf(t *testing.T, text string) *v1.Pod {
	pod := &v1.Pod{}
	if err := yaml.Unmarshal([]byte(text), pod); err != nil {
		t.Fatal(err)
	}
	defaults(pod)
	return pod
}

// spoil changes one place of a JSON value: the at-th, counted in the order of
// its text. The other two say how.
func spoil(tree *any, at int, how, with byte) {
	var places []func(func(any) any)
	visit(*tree, func(v any) { *tree = v }, &places)
	if len(places) == 0 {
		return
	}
	places[(at*7+int(how)*31)%len(places)](func(was any) any { return spoilt(was, how, with) })
}

// visit collects all places of a value, each as a function that changes it.
func visit(v any, set func(any), places *[]func(func(any) any)) {
	*places = append(*places, func(change func(any) any) { set(change(v)) })
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			visit(v[key], func(to any) { v[key] = to }, places)
		}
	case []any:
		for i := range v {
			visit(v[i], func(to any) { v[i] = to }, places)
		}
	}
}

// spoiltWords are what a string of a checkpoint may be replaced by.
var spoiltWords = []string{
	"", "x", "Syncing", "Terminating", "Terminated", "Gone", "absent", "creating", "created", "starting", "running", "exited",
	"uncertain", "none", "ready", "lost", "stopping", "stopped", "succeeded", "failed", "a", "e", "i", "s", "uid",
	"0001-01-01T00:00:00Z", "1969-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "2026-01-01T00:00:30Z", "True", "Failed", "1", "1Gi", "-5",
}

func spoilt(was any, how, with byte) any {
	if how%8 == 0 {
		return nil
	}
	switch was := was.(type) {
	case string:
		return spoiltWords[int(with)%len(spoiltWords)]
	case bool:
		return !was
	case float64:
		return []any{0, -1, 1, 2, was + 1, 2147483647, -2147483648, int64(1) << 53}[with%8]
	case []any:
		return spoiltList(was, with)
	case map[string]any:
		return spoiltObject(was, how, with)
	}
	return spoiltWords[int(with)%len(spoiltWords)]
}

func spoiltList(was []any, with byte) any {
	switch {
	case len(was) == 0 || with%3 == 0:
		return []any{}
	case with%3 == 1:
		return append(slices.Clone(was), was[0])
	}
	return was[1:]
}

// spoiltObject gives an object a field that may be new to it, or takes one away.
func spoiltObject(was map[string]any, how, with byte) any {
	const fields = `restartCount failures retryAt doubt deleted initTurn lastID generation kill exit stopping asked postStart
		active announced notBefore deadline force gaveUp cause attempt id position stage ips verdict backOff restartedAt last lastDone previousID`
	all := strings.Fields(fields)
	name := all[int(with)%len(all)]
	if _, there := was[name]; there {
		delete(was, name)
		return was
	}
	was[name] = []any{true, 1, "x", "2026-01-01T00:00:30Z", map[string]any{}, []any{}}[how%6]
	return was
}

// FuzzAnnotations: any annotations of a pod are refused, or give delays that a restart
// can have.
func FuzzAnnotations(f *testing.F) {
	for _, seed := range [][2]string{
		{"back-off", "initial=1s factor=1.5 max=30s"}, {"back-off.a", "constant=5s"}, {"back-off", "none"}, {"back-off-after-success", "none"},
		{"max-restarts", "5 in 10m"}, {"max-restarts.i", "3"}, {"restart-all-back-off", "initial=10s factor=2 max=5m reset=1h"}, {"restart-all-back-off.a", "none"},
		{"back-off", "initial=1h"}, {"back-off", "factor=100.001"}, {"max-restarts", "1 in -5s"}, {"other", ""},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, key, value string) {
		pod := checkpointPod()
		pod.Annotations = map[string]string{AnnotationPrefix + key: value}
		for _, e := range CheckAnnotations(pod) {
			if e.Key != AnnotationPrefix+key || e.Err == nil || e.Err.Error() == "" {
				t.Fatalf("%q says nothing", e)
			}
		}
		m := New(pod, DefaultOptions())
		for _, c := range m.containers {
			if c.tuning.maxRestarts < -1 || c.tuning.window < 0 {
				t.Fatalf("at most %d restarts in %v", c.tuning.maxRestarts, c.tuning.window)
			}
			if c.tuning.backOff != nil {
				delaysFit(t, *c.tuning.backOff)
			}
		}
		if p := podTuningOf(pod).restartAll; p != nil {
			delaysFit(t, *p)
		}
	})
}

// delaysFit: delays grow from the first to the longest.
func delaysFit(t *testing.T, p BackoffPolicy) {
	last := time.Duration(0)
	for range 60 {
		next := p.Next(last)
		if next < last || next > p.Max || next < p.Initial {
			t.Fatalf("%v after %v with %+v", next, last, p)
		}
		last = next
	}
}
