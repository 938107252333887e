package prove

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/internal/contract"
)

const root = "../.."

func bugs(t *testing.T) []Bug {
	t.Helper()
	list, err := Bugs()
	assert.Must(t, err)
	return list
}

// TestEveryBugIsWhole: each has all that is told of it, a mistake that can be made, a test
// that there is, and rules of the contract.
func TestEveryBugIsWhole(t *testing.T) {
	rules, err := contract.Rules()
	assert.Must(t, err)
	seen, reproducible := map[int]bool{}, 0
	for _, bug := range bugs(t) {
		if seen[bug.Number] {
			t.Errorf("bug %d is listed twice", bug.Number)
		}
		seen[bug.Number] = true
		if !bug.Reproducible() {
			if bug.File != "" || bug.Test != "" {
				t.Errorf("bug %d has a mistake, and a reason why it has none", bug.Number)
			}
			continue
		}
		reproducible++
		for what, text := range map[string]string{"what": bug.What, "fault": bug.Fault, "ours": bug.Ours, "mistake": bug.Mistake, "test": bug.Test} {
			if text == "" {
				t.Errorf("bug %d does not say %s", bug.Number, what)
			}
		}
		if len(bug.Rules) == 0 {
			t.Errorf("bug %d names no rule", bug.Number)
		}
		for _, number := range bug.Rules {
			if !slices.ContainsFunc(rules, func(r contract.Rule) bool { return r.Number == number }) {
				t.Errorf("bug %d names %s, which is no rule", bug.Number, number)
			}
		}
		mistakeCanBeMade(t, bug)
		testIsThere(t, bug)
	}
	if reproducible < 30 {
		t.Errorf("%d bugs are reproduced, want 30 or more", reproducible)
	}
}

func mistakeCanBeMade(t *testing.T, bug Bug) {
	if _, err := bug.Mutant(root); err != nil {
		t.Error(err)
		return
	}
	source, err := os.ReadFile(filepath.Join(root, bug.File))
	assert.Must(t, err)
	assert.NoError(t, assert.ErrorOf(parser.ParseFile(token.NewFileSet(), bug.File, strings.Replace(string(source), bug.Old, bug.New, 1), 0)), "bug ", bug.Number)
}

func testIsThere(t *testing.T, bug Bug) {
	folder := filepath.Join(root, bug.Package())
	if name, isTranscript := strings.CutPrefix(bug.Test, "TestTranscripts/"); isTranscript {
		assert.NoError(t, assert.ErrorOf(os.Stat(filepath.Join(folder, "testdata", name))), "bug ", bug.Number)
		return
	}
	paths, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	assert.Must(t, err)
	for _, path := range paths {
		source, err := os.ReadFile(path)
		assert.Must(t, err)
		if strings.Contains(string(source), "func "+bug.Test+"(") {
			return
		}
	}
	t.Errorf("bug %d: package %s has no %s", bug.Number, bug.Package(), bug.Test)
}

// TestDocument: docs/proof.md has the table of the bugs as they are.
func TestDocument(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docs/proof.md"))
	assert.Must(t, err)
	want, err := WithTable(string(text), bugs(t))
	assert.Must(t, err)
	assert.Deep(t, "go run ./hack/prove -table is needed", want, string(text))
}
