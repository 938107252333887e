package main

import (
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
)

// unitOnly are folders for which no suite stands: the unit tests and the linters, which are always run, are all there is.
var unitOnly = []string{"bench", "docs", "hack", "node/localdriver/sanity", "cluster/e2e/conformance", "e2e/critest"}

func suitesOfFile(t *testing.T) []suite {
	t.Helper()
	t.Chdir("../..")
	return assert.Get(load("hack/suites/suites.yaml")).Must(t)
}

// TestSuiteOfEachFolder: no change goes untested for want of a suite.
func TestSuiteOfEachFolder(t *testing.T) {
	suites := suitesOfFile(t)
	files := assert.Get(exec.Command("git", "ls-files", "*.go").Output()).Must(t)
	var own []string
	for _, s := range suites {
		folders := assert.Get(s.ownFolders()).Must(t)
		own = append(own, folders...)
	}
	seen := map[string]bool{}
	for file := range strings.Lines(string(files)) {
		folder := path.Dir(strings.TrimSpace(file))
		if seen[folder] || slices.ContainsFunc(unitOnly, func(of string) bool { return below(folder, of) }) {
			continue
		}
		seen[folder] = true
		if isOfTests(folder) {
			assert.True(t, slices.ContainsFunc(own, func(of string) bool { return below(folder, of) }), "%s is part of no suite's tests", folder)
			continue
		}
		assert.True(t, slices.ContainsFunc(suites, func(s suite) bool {
			return slices.ContainsFunc(s.Folders, func(of string) bool { return below(folder, of) })
		}), "no suite of suites.yaml stands for %s", folder)
	}
}

// TestSuitesAreReached: each suite is a target of the Makefile, and some folder that is there leads to it.
func TestSuitesAreReached(t *testing.T) {
	suites := suitesOfFile(t)
	makefile := assert.Get(os.ReadFile("Makefile")).Must(t)
	for _, s := range suites {
		assert.True(t, regexp.MustCompile(`(?m)^`+s.Target+`:`).Match(makefile), "the Makefile has no target %s", s.Target)
		assert.True(t, s.Minutes >= 1 && len(s.Folders) != 0, "%s: %d minutes, folders %q", s.Target, s.Minutes, s.Folders)
		for _, folder := range s.Folders {
			assert.NoError(t, assert.ErrorOf(os.Stat(folder)), s.Target)
		}
	}
}

func TestTouched(t *testing.T) {
	suites := suitesOfFile(t)
	for _, tc := range []struct {
		name    string
		changed []string
		all     bool
		want    []string // some of those that are touched
		not     []string
	}{
		{name: "the machine", changed: []string{"lifecycle/stop.go"}, want: []string{"test-pods", "test-agent", "prove-issues"}, not: []string{"test-storage", "vulnerabilities"}},
		{name: "the cluster", changed: []string{"cluster/dns/serve.go"}, want: []string{"test-up", "test-servers"}, not: []string{"test-pods", "test-storage"}},
		{name: "what lifepod sim is made of", changed: []string{"cri/errors.go"}, want: []string{"portable"}, not: []string{"test-groups"}},
		{name: "the dashboard", changed: []string{"docs/grafana.json"}, want: []string{"test-agent"}, not: []string{"test-pods"}},
		{name: "docs", changed: []string{"docs/up.md", "README.md", "lifecycle/README.md"}, not: []string{"test-pods", "test-up", "portable"}},
		{name: "a test", changed: []string{"cluster/e2e/storage/local_test.go"}, want: []string{"test-storage"}, not: []string{"test-up", "test-pods"}},
		{name: "what tests share", changed: []string{"e2e/machine/port.go"}, want: []string{"test-pods", "test-agent", "test-up"}, not: []string{"prove-issues"}},
		{name: "a module's version", changed: []string{"cluster/go.mod"}, all: true},
		{name: "how tests run", changed: []string{"hack/gotest"}, all: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			all := everything(tc.changed)
			assert.Require(t, all == tc.all, "everything: %v, want %v", all, tc.all)
			touched, rest, err := split(suites, tc.changed)
			assert.Must(t, err)
			for _, target := range tc.want {
				assert.True(t, slices.ContainsFunc(touched, func(s suite) bool { return s.Target == target }),
					"%s is not touched: %s", target, names(touched))
			}
			for _, target := range tc.not {
				assert.True(t, slices.ContainsFunc(rest, func(s suite) bool { return s.Target == target }),
					"%s is touched: %s", target, names(touched))
			}
		})
	}
}
