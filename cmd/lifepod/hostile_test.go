package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/spf13/cobra"
	v1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/lifepod/lifepod/control/client"
	"github.com/lifepod/lifepod/doctor"
	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/journal"
	"github.com/lifepod/lifepod/timeline"
	"github.com/lifepod/lifepod/timeline/timelinetest"
	"github.com/lifepod/lifepod/worker/images"
)

// hostile is what others may put into names and messages: it would clear the screen, name the
// window, turn what is read, run in a browser, and look like a line of lifepod's own.
const hostile = "\x1b[2J\x1b]0;owned\a\u009b31m\u202e\r</title><script>alert(1)</script>\n+9.999s pod Succeeded"

// makeHostile appends that to every text below a value, but for those that kept says.
func makeHostile(v reflect.Value, kept func(field string) bool) {
	switch v.Kind() {
	case reflect.String:
		if v.CanSet() {
			v.SetString(v.String() + hostile)
		}
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			makeHostile(v.Elem(), kept)
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return
		}
		for i := range v.NumField() {
			if !kept(v.Type().Field(i).Name) {
				makeHostile(v.Field(i), kept)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			makeHostile(v.Index(i), kept)
		}
	case reflect.Map:
		if v.Type().Elem().Kind() != reflect.String || v.IsNil() {
			return
		}
		changed := reflect.MakeMap(v.Type())
		for _, key := range v.MapKeys() {
			text := reflect.New(v.Type().Elem()).Elem()
			text.SetString(v.MapIndex(key).String() + hostile)
			changed.SetMapIndex(key, text)
		}
		v.Set(changed)
	default:
	}
}

// nothing and words are which fields stay as they are: all may be hostile, or what lifepod
// itself says, so that the rest is reported in its place.
func nothing(string) bool { return false }

func words(field string) bool {
	switch field {
	case "Kind", "State", "Stage", "Phase", "For", "Class", "UID", "Subject", "Name", "Container", "Value", "Type":
		return true
	}
	return false
}

// obeyed fails the test if a terminal would obey a text.
func obeyed(t *testing.T, where, text string) {
	t.Helper()
	if i := strings.IndexFunc(text, func(r rune) bool {
		return r != '\n' && r != '\t' && unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)
	}); i >= 0 {
		t.Errorf("%s: a control character in %q", where, text[max(0, i-60):min(len(text), i+20)])
	}
}

// harmless fails also if the text does not say what it was given.
func harmless(t *testing.T, where, text string) {
	t.Helper()
	obeyed(t, where, text)
	assert.True(t, strings.Contains(text, "owned"), "%s does not show what it was given: %.200q", where, text)
}

// oneLine fails if what belongs on one line began another.
func oneLine(t *testing.T, where, text string) {
	t.Helper()
	harmless(t, where, text)
	assert.True(t, !strings.Contains(text, "\n+9.999s"), "%s: a line of somebody else in %q", where, text)
}

func hostilePod() (*v1.Pod, []v1.Event) {
	pod := &v1.Pod{}
	pod.Namespace, pod.Name, pod.UID = "default", "web", "u"
	pod.Labels, pod.Annotations = map[string]string{"app": "web"}, map[string]string{"note": "x"}
	pod.Spec.Containers = []v1.Container{{Name: "main", Image: "app:1", Command: []string{"run"}, Env: []v1.EnvVar{{Name: "A", Value: "b"}}}}
	pod.Status.Conditions = []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionFalse, Reason: "r", Message: "m"}, {Type: v1.PodScheduled, Status: v1.ConditionFalse, Message: "m"}}
	pod.Status.PodIPs = []v1.PodIP{{IP: "10.0.0.1"}}
	exit := &v1.ContainerStateTerminated{ExitCode: 1, Reason: "Error", Message: "m", FinishedAt: pod.CreationTimestamp}
	pod.Status.ContainerStatuses = []v1.ContainerStatus{
		{Name: "main", Image: "app:1", State: v1.ContainerState{Waiting: &v1.ContainerStateWaiting{Reason: "r", Message: "m"}}, LastTerminationState: v1.ContainerState{Terminated: exit}},
		{Name: "side", State: v1.ContainerState{Terminated: exit}},
	}
	events := []v1.Event{{Type: "Warning", Reason: "r", Message: "m"}}
	makeHostile(reflect.ValueOf(pod), nothing)
	makeHostile(reflect.ValueOf(events), nothing)
	return pod, events
}

// TestHostilePod: status and ps.
func TestHostilePod(t *testing.T) {
	pod, events := hostilePod()
	var out bytes.Buffer
	assert.Must(t, client.Describe(&out, pod, events, time.Now()))
	oneLine(t, "status", out.String())
	for _, output := range append(psOutputs[:4], "", "jsonpath={..name}", "go-template={{.metadata.name}}{{range .items}}{{.metadata.name}}{{end}}") {
		out.Reset()
		command := &cobra.Command{}
		command.SetOut(&out)
		assert.Must(t, (&psFlags{output: output, ended: true}).print(command, []*v1.Pod{pod}))
		check := oneLine
		if strings.Contains(output, "=") {
			check = harmless // as it is, in as many lines as it has
		}
		check(t, "ps -o "+output, out.String())
		out.Reset()
		if output == "" || output == "wide" || output == "name" {
			continue
		}
		assert.Must(t, printObject(&out, pod, output))
		check(t, "status -o "+output, out.String())
	}
}

// hostileJournal has one record, of a pod that can be asked for.
type hostileJournal struct{ record *journal.Record }

func (hostileJournal) Pods() ([]journal.Pod, error)           { return []journal.Pod{{UID: "asked"}}, nil }
func (h hostileJournal) Read(string) (*journal.Record, error) { return h.record, nil }

// hostileRecords are lives of pods whose journals are full of it.
func hostileRecords() map[string]*journal.Record {
	list := map[string]*journal.Record{}
	for name, kept := range map[string]func(string) bool{"all": nothing, "messages": words} {
		pod, _ := hostilePod()
		list["object, "+name] = journal.OfObject(pod, errors.New(hostile))
		web, worker := timelinetest.Web(), timelinetest.Worker("w", time.Second)
		crashing, _ := timelinetest.Crashing()
		unpullable, _ := timelinetest.Unpullable()
		resumed, _ := timelinetest.Resumed()
		for life, record := range map[string]*journal.Record{"web": web, "worker": worker, "crashing": crashing, "unpullable": unpullable, "resumed": resumed} {
			makeHostile(reflect.ValueOf(record), kept)
			list[life+", "+name] = record
		}
	}
	return list
}

// TestHostileJournal: why and timeline, in every format.
func TestHostileJournal(t *testing.T) {
	for name, record := range hostileRecords() {
		source := hostileJournal{record}
		for _, output := range []string{"", "json"} {
			var one, all bytes.Buffer
			f := whyFlags{output: output}
			if err := errors.Join(f.one(&one, source, []string{"asked"}), (&whyFlags{output: output}).all(&all, io.Discard, source)); err != nil {
				t.Fatal(name, err)
			}
			harmless(t, "why -o "+output+" of "+name, one.String()) // it folds lines
			if strings.Contains(all.String(), "all as they should be") || all.String() == "[]\n" {
				continue
			}
			harmless(t, "why -o "+output+" with "+name, all.String())
		}
		charts := []*timeline.Chart{timeline.Of(record, time.Now())}
		for _, output := range []string{"", "json", "svg", "html"} {
			var out bytes.Buffer
			if err := (&timelineFlags{output: output}).write(&out, charts); err != nil {
				t.Fatal(name, err)
			}
			oneLine(t, "timeline -o "+output+" of "+name, out.String())
			assert.True(t, output == "" || !strings.Contains(out.String(), "<script>alert"), "timeline -o %s of %s has a script of somebody else", output, name)
		}
		for _, output := range []string{"", "json"} {
			var out bytes.Buffer
			if err := (&timelineFlags{output: output}).compare(&out, []*timeline.Chart{charts[0], timeline.Of(record, time.Now())}); err != nil {
				t.Fatal(name, err)
			}
			obeyed(t, "timeline --diff -o "+output+" of "+name, out.String()) // it cuts names
		}
		for _, e := range record.Entries {
			oneLine(t, "an entry of "+name, e.Line(e.At))
		}
	}
}

// TestHostileErrors: what commands say on standard error, and what doctor finds.
func TestHostileErrors(t *testing.T) {
	var out bytes.Buffer
	assert.True(t, exitCode(&out, errors.New(hostile), 0) != 0, "an error without an exit code")
	harmless(t, "an error", out.String())
	out.Reset()
	warn(&out, "%s", hostile)
	harmless(t, "a warning", out.String())
	out.Reset()
	results := []doctor.Result{{Name: "network", Status: doctor.Error, Found: hostile, Advice: []string{hostile}}}
	assert.Must(t, doctor.Print(&out, results))
	harmless(t, "doctor", out.String())
	out.Reset()
	assert.Must(t, doctor.PrintJSON(&out, results))
	harmless(t, "doctor -o json", out.String())
	root := newRootCommand(time.Now(), new(int))
	root.SetOut(io.Discard)
	root.SetErr(io.Discard)
	for _, args := range [][]string{
		{hostile}, {"--" + hostile}, {"explain", hostile}, {"run", hostile + ".yaml"}, {"run", "--timeout", hostile}, {"image", "pull", hostile},
		{"ps", "-o", hostile}, {"status", "--root", t.TempDir(), hostile}, {"why", "--root", t.TempDir(), hostile}, {"logs", "--since", hostile},
	} {
		out.Reset()
		root.SetArgs(args)
		if err := root.ExecuteContext(t.Context()); err != nil {
			exitCode(&out, err, 0)
		}
		text := out.String()
		if text == "" {
			t.Errorf("%.40q is no error", args)
			continue
		}
		obeyed(t, args[0], text)
	}
}

// TestHostileImages: names that came with an image.
func TestHostileImages(t *testing.T) {
	all := []images.Image{{
		ID: "sha256:" + hostile, Tags: []string{hostile, "r.io/app:1" + hostile}, Digests: []string{"r.io/app@" + hostile}, Username: hostile,
	}}
	for _, output := range []string{"", "wide", "json"} {
		var out bytes.Buffer
		assert.Must(t, printImages(&out, all, output))
		oneLine(t, "image ls -o "+output, out.String())
	}
	load := func(context.Context, io.Reader) ([]string, error) { return []string{hostile}, nil }
	text := assert.Get(runImage(t, &imageService{}, load, "load", "-")).Must(t)
	oneLine(t, "image load", text)
}

// FuzzYAML: what is printed as YAML is the same object, and nothing in it turns what is read.
func FuzzYAML(f *testing.F) {
	f.Add(hostile)
	f.Add(`\x01 \u0001`)
	f.Add("web\u202egnp \\u202e \x01202e \x01\x02\x03\x04\x05\x06\u2066\u200f")
	f.Fuzz(func(t *testing.T, text string) {
		object := map[string]string{"a": strings.ToValidUTF8(text, ""), strings.ToValidUTF8("k"+text, ""): "b"}
		plain := assert.Get(json.Marshal(object)).Must(t)
		got := assert.Get(harmlessYAML(plain)).Must(t)
		assert.True(t, !strings.ContainsFunc(string(got), func(r rune) bool { return unicode.Is(unicode.Bidi_Control, r) }), "%q", got)
		var back map[string]string
		err := yaml.Unmarshal(got, &back)
		assert.True(t, err == nil && maps.Equal(object, back), "%v: %q is %q", err, object, got)
	})
}
