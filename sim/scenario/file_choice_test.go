package scenario_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/manifest"
	"github.com/lifepod/lifepod/sim/scenario/file"
)

// A pod's annotation goes before patterns, in their order, and those before the scenario of all pods.
func TestWhichScenario(t *testing.T) {
	dir := t.TempDir()
	write := func(name, seconds string) string {
		path := filepath.Join(dir, name)
		text := "apiVersion: lifepod.dev/v1alpha1\nkind: Scenario\ncontainers: {main: {runs: [{run: " + seconds + "}]}}\n"
		assert.Must(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	s := assert.Get(file.ReadScenarios([]string{
		write("all", "1s"), "crash=" + write("crash", "2s"), "training/worker-*=" + write("worker", "3s"), "training/*=" + write("training", "4s"),
	})).Must(t)
	for _, test := range []struct{ namespace, name, annotation, want string }{
		{"default", "web", "", "1s"},
		{"default", "web", "crash", "2s"},
		{"training", "worker-7", "", "3s"},
		{"training", "other", "", "4s"},
		{"training", "worker-7", "crash", "2s"},
	} {
		annotations := map[string]string{}
		if test.annotation != "" {
			annotations[file.Annotation] = test.annotation
		}
		says, err := s.Of(test.namespace, test.name, annotations)
		assert.True(t, err == nil, "%+v: %v", test, err)
		assert.Deep(t, fmt.Sprintf("%+v: the run is", test), test.want, says.Of("main", 0).Run.String())
	}
	says, err := s.Of("default", "web", map[string]string{file.Annotation: "training/*"})
	assert.True(t, err != nil && says != nil, "a pattern is no name: %v, %v", says, err)
	var none *file.Scenarios
	says, err = none.Of("default", "web", nil)
	assert.True(t, says != nil && err == nil, "without scenarios: %v, %v", says, err)
	all, crash := filepath.Join(dir, "all"), filepath.Join(dir, "crash")
	for _, wrong := range [][]string{{"a/b/c=" + all}, {"[=" + all}, {all, crash}, {"absent"}} {
		_, err := file.ReadScenarios(wrong)
		assert.True(t, err != nil, "%q is read", strings.Join(wrong, " "))
	}
}

// TestFileUsage: what a container uses is checked with its line.
func TestFileUsage(t *testing.T) {
	for says, want := range map[string]string{
		"[{cpu: 500m, memory: 1Gi}, {from: exp(5m), memory: 3Gi}]": "",
		"[{from: 1m}]":    "scenario: s.yaml:6: containers[main].runs[0].usage[0]: says nothing; should say cpu, memory or both",
		"[{cpu: -1}]":     "scenario: s.yaml:6: containers[main].runs[0].usage[0].cpu: is -1; should be 0 to 10000",
		"[{memory: 0}]":   "scenario: s.yaml:6: containers[main].runs[0].usage[0].memory: is 0; should be more than 0, and at most 1Pi",
		"[{cpu: lots}]":   "scenario: s.yaml:6: containers[main].runs[0].usage[0].cpu: ",
		"[{memroy: 1Gi}]": "scenario: s.yaml:6: containers[main].runs[0].usage[0].memroy: unknown field; did you mean memory?",
		"[{cpu: 100M}]":   "scenario: s.yaml:6: containers[main].runs[0].usage[0].cpu: is 100M; should be 0 to 10000",
	} {
		text := "apiVersion: lifepod.dev/v1alpha1\nkind: Scenario\ncontainers:\n  main:\n    runs:\n    - usage: " + says + "\n"
		got := ""
		if _, err := file.ReadForAny(manifest.Source{Name: "s.yaml", Data: []byte(text)}); err != nil {
			got = err.Error()
		}
		if says == "[{cpu: lots}]" && len(got) > len(want) { // what is wrong with it are the words of package manifest
			got = got[:len(want)]
		}
		assert.Deep(t, says, want, got)
	}
}
