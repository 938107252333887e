package scenario_test

import (
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/manifest"
	"github.com/lifepod/lifepod/sim/scenario/file"
)

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
