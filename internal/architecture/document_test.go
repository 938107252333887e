package architecture

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestEveryPackageHasARow: the tables of docs/architecture.md name every package of the
// module, and none that is not there.
func TestEveryPackageHasARow(t *testing.T) {
	text, err := os.ReadFile("../../docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	shell, _, found := strings.Cut(string(text), "\n## A cluster\n") // the tables after it are of that module
	if !found {
		t.Fatal("docs/architecture.md has no part about clusters")
	}
	named := map[string]bool{}
	quoted := regexp.MustCompile("`([^`]+)`")
	for line := range strings.Lines(shell) {
		if row, isRow := strings.CutPrefix(line, "| `"); isRow {
			for _, name := range quoted.FindAllStringSubmatch("`"+strings.SplitN(row, " | ", 2)[0], -1) {
				named[name[1]] = true
			}
		}
	}
	packages := map[string]bool{}
	for name := range list(t, "Imports") {
		name = strings.TrimPrefix(name, module+"/")
		packages[name] = true
		if !named[name] {
			t.Errorf("docs/architecture.md does not say what package %s is", name)
		}
	}
	others := []string{"bundle/runtime", "cluster", "cluster/e2e", "packaging", "hack"} // modules of their own, and folders
	for name := range named {
		if !packages[name] && !slices.Contains(others, name) {
			t.Errorf("docs/architecture.md has a row for %s, which is no package", name)
		}
	}
}
