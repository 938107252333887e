package verdict

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// output is what tests print, with the dumps of one that failed.
const output = `--- FAIL: TestOne (1.00s)
    one_test.go:7: before it fails
    one_test.go:9: the pod has changed (-want +got):
          a
          b
          c
          d
          e
          beyond
    one_test.go:11: third
    one_test.go:12: a long log:
        line
--- FAIL: TestParent (2.00s)
    --- PASS: TestParent/good (1.00s)
        two_test.go:3: fine
    --- FAIL: TestParent/bad (1.00s)
        two_test.go:4: wrong
FAIL
no message: x_test.go:4: not of a test
`

const want = `what failed:
  TestOne
      one_test.go:7: before it fails
      one_test.go:9: the pod has changed (-want +got):
            a
            b
            c
            d
            e
      one_test.go:11: third
  TestParent
  TestParent/bad
          two_test.go:4: wrong
`

func TestSummary(t *testing.T) {
	var s summary
	for line := range strings.Lines(output) {
		s.line(line)
	}
	if diff := cmp.Diff(want, s.String()); diff != "" {
		t.Errorf("summary (-want +got):\n%s", diff)
	}
	var none summary
	none.line("ok\n")
	if got := none.String(); got != "" {
		t.Errorf("nothing failed: %q", got)
	}
	var many summary
	for range 100 {
		many.line("--- FAIL: TestX (0.00s)\n")
		many.line("    x_test.go:1: " + strings.Repeat("ä", 1000) + "\n")
	}
	if got := many.String(); len(got) > 10*(maxBytes+50) || !strings.HasSuffix(got, "  and others\n") {
		t.Errorf("%d bytes about many tests: %s", len(got), got)
	}
}

// printing are tests that print.
type printing struct {
	text string
	code int
}

func (p printing) Run() int {
	fmt.Print(p.text)
	return p.code
}

// TestRun: all passes through, and the summary comes after what is shown.
func TestRun(t *testing.T) {
	for _, tt := range []struct {
		name                   string
		tests                  printing
		wantStdout, wantStderr string
	}{
		{"failed", printing{output, 1}, output, "logs\n" + want},
		{"passed", printing{"PASS\n", 0}, "PASS\n", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			stdout, stderr := capture(t, func() {
				if got := Run(tt.tests, func() { fmt.Fprintln(os.Stderr, "logs") }); got != tt.tests.code {
					t.Errorf("exit code %d, want %d", got, tt.tests.code)
				}
			})
			if diff := cmp.Diff([]string{tt.wantStdout, tt.wantStderr}, []string{stdout, stderr}); diff != "" {
				t.Errorf("stdout and stderr (-want +got):\n%s", diff)
			}
		})
	}
}

// capture runs do with other files for stdout and stderr, and returns what they got.
func capture(t *testing.T, do func()) (stdout, stderr string) {
	t.Helper()
	var files [2]*os.File
	for i := range files {
		var err error
		if files[i], err = os.CreateTemp(t.TempDir(), ""); err != nil {
			t.Fatal(err)
		}
		defer files[i].Close()
	}
	formerOut, formerErr := os.Stdout, os.Stderr
	os.Stdout, os.Stderr = files[0], files[1]
	defer func() { os.Stdout, os.Stderr = formerOut, formerErr }()
	do()
	var texts [2]string
	for i, file := range files {
		text, err := os.ReadFile(file.Name())
		if err != nil {
			t.Fatal(err)
		}
		texts[i] = string(text)
	}
	return texts[0], texts[1]
}
