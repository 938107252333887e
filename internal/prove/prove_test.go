package prove

import (
	"context"
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/internal/contract"
	"github.com/lifepod/lifepod/internal/prove/walks"
)

const root = "../.."

func bugs(t *testing.T) []Bug {
	t.Helper()
	return assert.Get(Bugs()).Must(t)
}

// TestEveryBugIsWhole: each has all that is told of it, a mistake that can be made, a test
// that there is, and rules of the contract.
func TestEveryBugIsWhole(t *testing.T) {
	rules := assert.Get(contract.Rules()).Must(t)
	seen, reproducible := map[int]bool{}, 0
	for _, bug := range bugs(t) {
		assert.True(t, !seen[bug.Number], "bug %d is listed twice", bug.Number)
		seen[bug.Number] = true
		if !bug.Reproducible() {
			assert.True(t, bug.File == "" && bug.Test == "", "bug %d has a mistake, and a reason why it has none", bug.Number)
			continue
		}
		reproducible++
		for what, text := range map[string]string{"what": bug.What, "fault": bug.Fault, "ours": bug.Ours, "mistake": bug.Mistake, "test": bug.Test} {
			assert.True(t, text != "", "bug %d does not say %s", bug.Number, what)
		}
		assert.True(t, len(bug.Rules) != 0, "bug %d names no rule", bug.Number)
		for _, number := range bug.Rules {
			assert.True(t, slices.ContainsFunc(rules, func(r contract.Rule) bool { return r.Number == number }),
				"bug %d names %s, which is no rule", bug.Number, number)
		}
		mistakeCanBeMade(t, bug)
		testIsThere(t, bug)
	}
	assert.True(t, reproducible >= 30, "%d bugs are reproduced, want 30 or more", reproducible)
}

// TestEveryGroupMistake: each can be made, and there is a test of it.
func TestEveryGroupMistake(t *testing.T) {
	all := assert.Get(GroupMistakes()).Must(t)
	assert.True(t, len(all) >= 30, "%d mistakes, want 30 or more", len(all))
	for _, bug := range all {
		mistakeCanBeMade(t, bug)
		testIsThere(t, bug)
	}
}

func mistakeCanBeMade(t *testing.T, bug Bug) {
	if _, err := bug.Mutant(root); err != nil {
		t.Error(err)
		return
	}
	source := assert.Get(os.ReadFile(filepath.Join(root, bug.File))).Must(t)
	assert.NoError(t, assert.ErrorOf(parser.ParseFile(token.NewFileSet(), bug.File, strings.Replace(string(source), bug.Old, bug.New, 1), 0)), "bug ", bug.Number)
}

func testIsThere(t *testing.T, bug Bug) {
	folder := filepath.Join(root, bug.Package())
	if name, isTranscript := strings.CutPrefix(bug.Test, "TestTranscripts/"); isTranscript {
		assert.NoError(t, assert.ErrorOf(os.Stat(filepath.Join(folder, "testdata", name))), "bug ", bug.Number)
		return
	}
	paths := assert.Get(filepath.Glob(filepath.Join(folder, "*_test.go"))).Must(t)
	for _, path := range paths {
		source := assert.Get(os.ReadFile(path)).Must(t)
		if strings.Contains(string(source), "func "+bug.Test+"(") {
			return
		}
	}
	t.Errorf("bug %d: package %s has no %s", bug.Number, bug.Package(), bug.Test)
}

// TestDocument: docs/reports/kubelet-bugs.md has the bugs as they are.
func TestDocument(t *testing.T) {
	text := assert.Get(os.ReadFile(filepath.Join(root, "docs/reports/kubelet-bugs.md"))).Must(t)
	assert.Deep(t, "go run ./hack/prove -table is needed", Table(bugs(t)), string(text))
}

// coursed is a course of runs with ten lives each, of which the even ones end after the odd ones.
func coursed(ctx context.Context, share, fails int) *course {
	return newCourse(ctx, Walks{Folder: "machine", Tests: "Walks$", Share: share}, func(ctx context.Context, i int) *exec.Cmd {
		script := "echo 'walk_test.go:1: counted 10 lives'"
		if i%2 == 0 {
			script = "sleep 0.05; " + script
		}
		if i == fails {
			script += "; exit 1"
		}
		return exec.CommandContext(ctx, "sh", "-c", script)
	})
}

func (l *leader) leadBy(processors int) {
	var group sync.WaitGroup
	for range processors {
		group.Go(l.lead)
	}
	group.Wait()
}

// TestSameLives: a number of lives is that of the first runs, however many are led at the same time and whichever ends first; one beyond
// them counts for nothing, even if it fails.
func TestSameLives(t *testing.T) {
	few, many := coursed(t.Context(), 100, 2), coursed(t.Context(), 900, -1)
	l := &leader{limit: Limit{Lives: 150}, courses: []*course{few, many}}
	l.leadBy(4)
	for c, want := range map[*course]int{few: 20, many: 140} {
		err := c.verdict(1)
		assert.True(t, err == nil && c.sum[walks.Lives] == want, "%d lives, %v; want %d", c.sum[walks.Lives], err, want)
	}
}

// TestFirstFailure: the run that fails is named by its seed, and ends its own course alone.
func TestFirstFailure(t *testing.T) {
	fails, other := coursed(t.Context(), 500, 3), coursed(t.Context(), 500, -1)
	l := &leader{limit: Limit{Lives: 200}, courses: []*course{fails, other}}
	l.leadBy(4)
	assert.ErrorContains(t, fmt.Sprintf("-rapid.seed=%d ", 7+3), fails.verdict(7), "the verdict is")
	assert.True(t, fails.sum[walks.Lives] == 30 && other.sum[walks.Lives] == 100 && other.verdict(7) == nil,
		"%d lives before the failure, %d in the other course", fails.sum[walks.Lives], other.sum[walks.Lives])
}
