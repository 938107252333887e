package prove

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lifepod/lifepod/internal/assert"
)

// The output of two tests with -v: the first passes while the second walks.
const verboseLog = `=== RUN   TestAdoptQuiet
=== PAUSE TestAdoptQuiet
=== RUN   TestRandomWalks
=== PAUSE TestRandomWalks
=== CONT  TestAdoptQuiet
=== CONT  TestRandomWalks
    walk_test.go:29: [rapid] failed after 537 tests: two instances of c0 run
        To reproduce, specify -run="TestRandomWalks" -rapid.seed=20406031
        Failed test output:
    walk_test.go:105: [rapid] draw steps: false
=== NAME  TestAdoptQuiet
    walk_adopt_test.go:140: [rapid] OK, passed 400 tests (3s)
    walk_adopt_test.go:160: counted 17 lives
=== NAME  TestRandomWalks
    transcript_fact_test.go:90: pod keep
        spec:
          containers: []
        ----
        +0s      EnsureCgroup
    walk_test.go:105: [rapid] draw action: true
    transcript_fact_test.go:90: fact Woke at=10s
        ----
        (nothing)
    world_test.go:12: two instances of c0 run
--- FAIL: TestRandomWalks (60.88s)
--- PASS: TestAdoptQuiet (3.25s)
FAIL
`

// The same walk, as go test prints it without -v; a panic has a trace.
const log = `--- FAIL: TestRandomWalks (60.88s)
    walk_test.go:29: [rapid] panic after 0 tests: index out of range
        To reproduce, specify -run="TestRandomWalks" -rapid.seed=7
        Traceback:
            walk.go:12 in act
        Failed test output:
    walk_test.go:105: [rapid] draw steps: false
    walk_test.go:129: +0.001s roster.NodeKnown
    walk_test.go:131:     AllHeard
FAIL
FAIL	github.com/lifepod/lifepod/roster	61.2s
FAIL
`

// Of a failing log a developer is shown the life, the law that it breaks, and how to lead that walk alone; nothing of what was drawn, and
// nothing of other tests.
func TestReport(t *testing.T) {
	for _, test := range []struct{ log, folder, want string }{
		{verboseLog, "lifecycle", `pod keep
spec:
  containers: []
----
+0s      EnsureCgroup

fact Woke at=10s
----
(nothing)

TestRandomWalks: two instances of c0 run

again: go test ./lifecycle -run '^TestRandomWalks$' -rapid.seed=20406031 -rapid.checks=1 -rapid.shrinktime=1m -compare=4 | go run ./hack/prove -report`},
		{log, "", `+0.001s roster.NodeKnown
    AllHeard

TestRandomWalks: index out of range
    walk.go:12 in act

again: go test ./roster -run '^TestRandomWalks$' -rapid.seed=7 -rapid.checks=1 -rapid.shrinktime=1m -compare=4 | go run ./hack/prove -report`},
	} {
		f, found := FailureIn([]byte(test.log))
		if test.folder != "" {
			f.Folder = test.folder
		}
		diff := cmp.Diff(test.want, f.Report(4))
		assert.True(t, diff == "" && found, "(-want +got)\n%s", diff)
	}
	f, found := FailureIn([]byte("--- FAIL: TestMatrix (0.1s)\n    matrix_test.go:10: a pair\n"))
	assert.True(t, !found, "a walk that is none: %+v", f)
}

// Without a number make says what it wants, and not which flags a program has.
func TestMakeProveIssue(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "make", "-C", root, "--no-print-directory", "prove-issue", "N=").CombinedOutput()
	assert.True(t, err != nil && strings.HasPrefix(string(out), "make prove-issue: want N=<number>"), "%v: %s", err, out)
}
