package contract

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// TestCitedRulesExist: a test that cites a rule that there is none of proves
// something else than it says.
func TestCitedRulesExist(t *testing.T) {
	rules, err := Rules()
	if err != nil {
		t.Fatal(err)
	}
	cited, err := Citations(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	for _, unknown := range NewReport(rules, cited).Unknown {
		t.Errorf("no such rule: %s", unknown)
	}
	if len(cited) < 100 {
		t.Errorf("%d rules are cited: the tests were not found", len(cited))
	}
}

// TestTranscriptsCiteRules: the first lines of a transcript say what it proves.
func TestTranscriptsCiteRules(t *testing.T) {
	entries, err := os.ReadDir("../../lifecycle/testdata")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if entry.IsDir() {
			continue
		}
		text, err := os.ReadFile("../../lifecycle/testdata/" + entry.Name())
		if err != nil {
			t.Fatal(err)
		}
		if len(Numbers(firstLines(string(text)))) == 0 {
			t.Errorf("transcript %s cites no rule in its first lines", entry.Name())
		}
	}
}

func TestReport(t *testing.T) {
	rules, err := parse(`
# a comment
A-ONE-1 | first |
A-ONE-2 | second | needs more
A-ONE-3 | third |

B-TWO-E1 | fourth |
`)
	if err != nil {
		t.Fatal(err)
	}
	cited, err := Citations(fstest.MapFS{
		"lifecycle/testdata/one":  {Data: []byte("# Rules: A-ONE-1.\n# B-TWO-E1\n\nstatus\n# A-ONE-3\n")},
		"agent/x_test.go":         {Data: []byte("// (A-ONE-1, A-ONE-2, A-NONE-7)")},
		"manifest/testdata/y.txt": {Data: []byte("# A-ONE-2\n\n# A-ONE-3\n")},
		"agent/x.go":              {Data: []byte("// A-ONE-3")},
		".cache/x_test.go":        {Data: []byte("// A-ONE-3")},
	})
	if err != nil {
		t.Fatal(err)
	}
	got := NewReport(rules, cited)
	want := Report{
		Areas: []Area{
			{Name: "A-ONE", Covered: 1, Transcripts: 1, Applies: 2, NotYet: 1},
			{Name: "B-TWO", Covered: 1, Transcripts: 1, Applies: 1},
		},
		Missing: []Rule{{Number: "A-ONE-3", Words: "third"}},
		Unknown: []string{"agent/x_test.go: A-NONE-7"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
	var printed strings.Builder
	if err := got.Print(&printed); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"rules covered: 2, not applicable yet: 1, total: 4\n",
		"no test cites A-ONE-3 (third)\n", "no such rule: agent/x_test.go: A-NONE-7\n",
	} {
		if !strings.Contains(printed.String(), line) {
			t.Errorf("printed:\n%s\nwant the line %q", &printed, line)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for _, text := range []string{
		"A-ONE-1", "A-ONE-1 | | ", "A-ONE | words |", "A-ONE-1 | words |\nA-ONE-1 | again |", "A-ONE-1 and more | words |",
	} {
		if rules, err := parse(text); err == nil {
			t.Errorf("%q: %v, want an error", text, rules)
		}
	}
}
