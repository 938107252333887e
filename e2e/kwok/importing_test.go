package kwok

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/lifepod/lifepod/sim/command"
	played "github.com/lifepod/lifepod/sim/importing/stages"
)

// sources is the folder of KWOK's own Stages of pods, in the version that e2e/controlplane/kwok pins.
func sources(t *testing.T) string {
	t.Helper()
	download := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", "sigs.k8s.io/kwok")
	download.Dir = "../controlplane/kwok"
	out, err := download.Output()
	if err != nil {
		t.Fatalf("%v: %v", download, err)
	}
	var module struct{ Dir string }
	if err := json.Unmarshal(out, &module); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(module.Dir, "kustomize", "stage", "pod")
}

// glob are the files of a pattern, but for those of kustomize.
func glob(t *testing.T, parts ...string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(parts...))
	if err != nil {
		t.Fatal(err)
	}
	files = slices.DeleteFunc(files, func(name string) bool { return filepath.Base(name) == "kustomization.yaml" })
	if len(files) == 0 {
		t.Fatalf("no files %v", parts)
	}
	return files
}

func read(t *testing.T, name string, into any) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	text = bytes.ReplaceAll(text, []byte("<Now>"), []byte(`"2006-01-02T15:04:05Z"`)) // KWOK's word for any time
	if err := yaml.Unmarshal(text, into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// expectation is what KWOK's own tests say of a pod: which Stage comes next, after which delay, and what it does.
type expectation struct {
	Stages []struct {
		Stage string
		Delay []time.Duration // none, one, or from and to
		Next  []struct {
			Kind string
			Data struct{ Status map[string]any }
		}
	}
}

// KWOK's own tests of its Stages of pods, fast and general, hold for Stages as they are played here.
func TestStagesAreThoseOfKWOK(t *testing.T) {
	inputs := glob(t, sources(t), "*", "testdata", "*.input.yaml")
	if len(inputs) < 8 {
		t.Errorf("KWOK has %d tests", len(inputs))
	}
	for _, input := range inputs {
		t.Run(filepath.Base(filepath.Dir(filepath.Dir(input)))+"/"+filepath.Base(input), func(t *testing.T) {
			var files []played.File
			for _, name := range glob(t, filepath.Dir(filepath.Dir(input)), "*.yaml") {
				text, err := os.ReadFile(name)
				if err != nil {
					t.Fatal(err)
				}
				files = append(files, played.File{Name: name, Data: text})
			}
			pod, want := &v1.Pod{}, expectation{}
			read(t, input, pod)
			read(t, strings.TrimSuffix(input, ".input.yaml")+".output.yaml", &want)
			set, err := played.Read(files, &played.Notes{})
			if err != nil {
				t.Fatal(err)
			}
			way, err := set.Play(pod, time.Now(), &played.Notes{})
			if err != nil {
				t.Fatal(err)
			}
			compare(t, &want, &way)
		})
	}
}

// volatile are addresses, which lifepod gives itself, and times.
var volatile = []string{"hostIP", "hostIPs", "podIP", "podIPs", "startTime", "lastTransitionTime", "lastProbeTime", "startedAt", "finishedAt"}

func compare(t *testing.T, want *expectation, way *played.Way) {
	t.Helper()
	if len(want.Stages) != 1 || len(way.Taken) == 0 {
		t.Fatalf("KWOK has %d Stages for this pod, here are %d", len(want.Stages), len(way.Taken))
	}
	next, taken := want.Stages[0], way.Taken[0]
	from, to := time.Duration(0), time.Duration(0)
	if n := len(next.Delay); n > 0 {
		from, to = next.Delay[0], next.Delay[n-1]
	}
	if taken.Stage.Name != next.Stage || taken.After.Least != from || taken.After.Most != to {
		t.Errorf("%s after %v to %v; want %s after %v to %v", taken.Stage.Name, taken.After.Least, taken.After.Most, next.Stage, from, to)
	}
	data, err := json.Marshal(taken.Pod.Status)
	if err != nil {
		t.Fatal(err)
	}
	var status map[string]any
	if err := json.Unmarshal(data, &status); err != nil {
		t.Fatal(err)
	}
	for _, step := range next.Next {
		if step.Kind == "delete" && !taken.Deleted {
			t.Error("the pod is not deleted")
		}
		for field, value := range step.Data.Status {
			if slices.Contains(volatile, field) || field == "conditions" { // which are merged with those that were there
				continue
			}
			if diff := cmp.Diff(plain(value), plain(status[field])); diff != "" {
				t.Errorf("status.%s (-KWOK +here):\n%s", field, diff)
			}
		}
		for _, condition := range asList(step.Data.Status["conditions"]) {
			if !slices.ContainsFunc(asList(status["conditions"]), func(is any) bool { return has(plain(is), plain(condition)) }) {
				t.Errorf("condition %v is not in %v", condition, status["conditions"])
			}
		}
	}
}

// has says whether a condition has the fields of another: it keeps those that it had and a Stage leaves empty.
func has(is, want any) bool {
	of, fields := is.(map[string]any), want.(map[string]any)
	for name, value := range fields {
		if of[name] != value {
			return false
		}
	}
	return len(fields) >= 2 // at least its type and status
}

func asList(value any) []any {
	list, _ := value.([]any)
	return list
}

// plain is a value without what is volatile and without what says nothing, as the types of the API have it.
func plain(value any) any {
	switch value := value.(type) {
	case map[string]any:
		kept := map[string]any{}
		for name, below := range value {
			below = plain(below)
			if empty, is := below.(map[string]any); is && name == "lastState" && len(empty) == 0 {
				continue
			}
			if !slices.Contains(volatile, name) && below != nil && below != "" {
				kept[name] = below
			}
		}
		return kept
	case []any:
		for i := range value {
			value[i] = plain(value[i])
		}
	}
	return value
}

const pod = `apiVersion: v1
kind: Pod
metadata:
  name: web
  labels: {LABEL.stage.kwok.x-k8s.io: "true"}
  annotations:
    LABEL.stage.kwok.x-k8s.io/container-name: CONTAINER
    LABEL.stage.kwok.x-k8s.io/exit-code: "42"
    LABEL.stage.kwok.x-k8s.io/delay: 20s
    LABEL.stage.kwok.x-k8s.io/jitter-delay: 30s
spec:
  restartPolicy: Never
  initContainers:
  - {name: setup, image: example.com/setup:1}
  containers:
  - {name: main, image: example.com/main:1}
`

// A pod lives by the scenario of KWOK's own Stages as the Stages say: the same in the same order, each as long after what
// was before as its Stage is. In a line +A..B is from when to when it may come, since the line before.
func TestImportedStages(t *testing.T) {
	folder := sources(t)
	for name, c := range map[string]struct {
		folders   []string
		label, of string
		args      []string
		lives     []string
	}{
		"fast": {[]string{"fast"}, "none", "main", nil, []string{
			"+0s..10ms setup exited 0", "+0s..10ms pod Ready",
		}},
		"fast, of a Job": {[]string{"fast"}, "none", "main", []string{"--owner", "Job"}, []string{
			"+0s..10ms setup exited 0", "+0s..10ms pod Ready", "+0s..10ms main exited 0", "+0s..200ms pod Succeeded",
		}},
		"general": {[]string{"general"}, "none", "main", nil, []string{
			"+1s..5.1s pod sandbox ready", "+1s..5.1s setup started", "+1s..5.1s setup exited 0", "+1s..5.1s pod Ready",
		}},
		"general, of a Job": {[]string{"general"}, "none", "main", []string{"--owner", "Job"}, []string{
			"+1s..5.1s pod sandbox ready", "+1s..5.1s setup started", "+1s..5.1s setup exited 0", "+1s..5.1s pod Ready", "+1s..5.1s main exited 0",
			"+0s..200ms pod Succeeded",
		}},
		"chaos": {[]string{"general", "chaos"}, "pod-container-running-failed", "main", nil, []string{
			"+1s..5.1s pod sandbox ready", "+1s..5.1s setup started", "+1s..5.1s setup exited 0", "+1s..5.1s pod Ready", "+20s..30.1s main exited 42",
			"+0s..200ms pod Failed",
		}},
		"chaos of init containers": {[]string{"general", "chaos"}, "pod-init-container-running-failed", "setup", nil, []string{
			"+20s..30.1s setup exited 42", "+0s..200ms pod Failed",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			manifest := strings.NewReplacer("LABEL", c.label, "CONTAINER", c.of).Replace(pod)
			if err := os.WriteFile("pod.yaml", []byte(manifest), 0o600); err != nil {
				t.Fatal(err)
			}
			args := append([]string{"import", "--pod", "pod.yaml", "-o", "scenario.yaml"}, c.args...)
			for _, below := range c.folders {
				args = append(args, glob(t, folder, below, "*.yaml")...)
			}
			simulate(t, args...)
			for _, seed := range []string{"1", "2", "3"} {
				holds(t, c.lives, simulate(t, "pod.yaml", "--scenario", "scenario.yaml", "--seed", seed))
			}
		})
	}
}

// simulate runs lifepod sim, and says what it tells.
func simulate(t *testing.T, args ...string) string {
	t.Helper()
	var out strings.Builder
	code := 0
	c := command.New(&code)
	c.SetOut(&out)
	c.SetErr(&out)
	c.SetArgs(args)
	if err := c.ExecuteContext(t.Context()); err != nil || code != 0 {
		t.Fatalf("%v: exit code %d, %v\n%s", args, code, err, out.String())
	}
	return out.String()
}

var (
	story  = regexp.MustCompile(`(?m)^\+(\S+) (.*)$`)
	wanted = regexp.MustCompile(`^\+(\S+)\.\.(\S+) (.*)$`)
)

// holds says whether a life has the milestones, in their order and time.
func holds(t *testing.T, milestones []string, life string) {
	t.Helper()
	lines := story.FindAllStringSubmatch(life, -1)
	last := time.Duration(0)
	for _, m := range milestones {
		parts := wanted.FindStringSubmatch(m)
		from, to := duration(t, parts[1]), duration(t, parts[2])
		i := slices.IndexFunc(lines, func(l []string) bool { return strings.HasPrefix(l[2], parts[3]) })
		if i < 0 {
			t.Fatalf("no %q in:\n%s", m, life)
		}
		at := duration(t, lines[i][1])
		if at-last < from || at-last > to {
			t.Errorf("%q came %v after the one before, in:\n%s", m, at-last, life)
		}
		last, lines = at, lines[i+1:]
	}
}

func duration(t *testing.T, text string) time.Duration {
	t.Helper()
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}
