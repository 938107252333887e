package contract

import (
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/lifepod/lifepod/internal/assert"
)

// repository is the root of the module.
const repository = "../.."

// TestTestsAndRulesAgree: each rule is proven, or marked as untested or as another
// part's; and each citation in a test names a rule that there is.
func TestTestsAndRulesAgree(t *testing.T) {
	rules := assert.Get(Rules()).Must(t)
	citations := assert.Get(Citations(os.DirFS(repository))).Must(t)
	assert.True(t, len(rules) >= 400 && len(citations) >= 1000, "%d rules and %d citations: not all were found", len(rules), len(citations))
	for _, text := range NewReport(rules, citations).Errors {
		t.Error(text)
	}
}

// TestTranscriptsCiteRules: a transcript of the machine says which rules it proves.
func TestTranscriptsCiteRules(t *testing.T) {
	citations := assert.Get(Citations(os.DirFS(repository))).Must(t)
	entries := assert.Get(os.ReadDir(repository + "/lifecycle/testdata")).Must(t)
	for _, entry := range entries {
		file := "lifecycle/testdata/" + entry.Name()
		assert.True(t, entry.IsDir() || slices.ContainsFunc(citations, func(c Citation) bool { return c.File == file }),
			"transcript %s cites no rule", entry.Name())
	}
}

// A small contract with one rule in each state, and one in none.
var small = fstest.MapFS{
	"README.md": {Data: []byte("# The contract\n\n## The only part\n\n| chapter | rules |\n| --- | --- |\n| [One](part/one.md) | A-ONE, B-TWO |\n")},
	"part/one.md": {Data: []byte("# One\n\nWords.\n\n" +
		"### A-ONE-1\n\n**First.** It is\nso.\n\n**lifepod:** Otherwise.\n\n*Source:* `a.go`: `f`.\n\n" +
		"### A-ONE-2\n\n**Second** is\n\n| a | b |\n\n**Untested:** needs\nmore.\n\n*Source:* KEP-1.\n\n" +
		"### A-ONE-3\n\n**Third,** too.\n\n*Source:* KEP-1.\n\n## More\n\nWords.\n\n" +
		"### B-TWO-E1\n\n**Fourth.**\n\n**Not lifepod's:** theirs.\n\n*Source:* KEP-1.\n")},
}

func TestReadChapters(t *testing.T) {
	chapters := assert.Get(readChapters(small)).Must(t)
	for i := range chapters[0].Rules {
		chapters[0].Rules[i].Text, chapters[0].Rules[i].Opening = "", "" // long, and tested by themselves
	}
	want := []Chapter{{
		Title: "One", File: "part/one.md", Part: "The only part", Areas: []string{"A-ONE", "B-TWO"},
		Rules: []Rule{
			{Number: "A-ONE-1", Title: "First", Chapter: "One", File: "part/one.md", Source: "`a.go`: `f`."},
			{Number: "A-ONE-2", Title: "Second", Chapter: "One", File: "part/one.md", Source: "KEP-1.", Untested: "needs more."},
			{Number: "A-ONE-3", Title: "Third", Chapter: "One", File: "part/one.md", Source: "KEP-1."},
			{Number: "B-TWO-E1", Title: "Fourth", Chapter: "One", File: "part/one.md", Source: "KEP-1.", NotOurs: "theirs."},
		},
	}}
	assert.Deep(t, "chapters", want, chapters)
	assert.Equal(t, "part/one.md#b-two-e1", chapters[0].Rules[3].Anchor(), "anchor")
}

func TestReadErrors(t *testing.T) {
	const good = "### A-ONE-1\n\n**First.**\n\n*Source:* KEP-1.\n"
	for name, chapter := range map[string]string{
		"another title": "# Two\n\n" + good,
		"no number":     "# One\n\n### A-ONE\n\n**First.**\n\n*Source:* KEP-1.\n",
		"no title":      "# One\n\n### A-ONE-1\n\nFirst.\n\n*Source:* KEP-1.\n",
		"no source":     "# One\n\n### A-ONE-1\n\n**First.**\n",
		"twice":         "# One\n\n" + good + good,
		"two states":    "# One\n\n" + good + "\n**Untested:** a.\n\n**Not lifepod's:** b.\n",
	} {
		files := fstest.MapFS{"README.md": small["README.md"], "part/one.md": {Data: []byte(chapter)}}
		chapters, err := readChapters(files)
		assert.True(t, err != nil, "%s: %v, want an error", name, chapters)
	}
}

func TestReport(t *testing.T) {
	chapters := assert.Get(readChapters(small)).Must(t)
	citations := assert.Get(Citations(fstest.MapFS{
		"lifecycle/testdata/one":  {Data: []byte("# Words.\n# A-ONE-1\n\nstatus\n----\n[A-ONE-3]\n")},
		"agent/x_test.go":         {Data: []byte("package worker\n\n// (A-ONE-1, A-NONE-7)\nvar a, b = \"A-ONE-3\", `pod Ready  [A-ONE-3]`\n")},
		"agent/y_test.go":         {Data: []byte("package worker\n\nvar c = \"A-ONE-2 fails\"\n")},
		"manifest/testdata/y.txt": {Data: []byte("# B-TWO-E1\n")},
		"agent/x.go":              {Data: []byte("// A-ONE-3")},
		".cache/x_test.go":        {Data: []byte("// A-ONE-3")},
	})).Must(t)
	got := NewReport(rulesOf(chapters), citations)
	want := Report{
		Rules:    4,
		Areas:    []Area{{Name: "A-ONE", Proven: 1, Transcripts: 1, Untested: 1}, {Name: "B-TWO", NotOurs: 1}},
		Untested: chapters[0].Rules[1:2],
		Errors: []string{
			"agent/x_test.go:3: there is no rule A-NONE-7",
			`agent/y_test.go:3: proves A-ONE-2, which is marked "**Untested:** " in part/one.md`,
			`manifest/testdata/y.txt:1: proves B-TWO-E1, which is marked "**Not lifepod's:** " in part/one.md`,
			`part/one.md: no test proves A-ONE-3 (Third), and it is marked neither "**Untested:** " nor "**Not lifepod's:** "`,
		},
	}
	assert.Deep(t, "report", want, got)
	var printed strings.Builder
	assert.Must(t, got.Print(&printed))
	for _, line := range append(want.Errors,
		"rules: 4, proven: 1, untested: 1, not ours: 1",
		"untested: A-ONE-2 (Second): needs more.",
	) {
		assert.True(t, strings.Contains(printed.String(), line+"\n"), "printed:\n%s\nwant the line %q", &printed, line)
	}
}

// TestCrowded: five rules may be cited together, six may not, on one line or in the
// lines of one comment.
func TestCrowded(t *testing.T) {
	citations := assert.Get(Citations(fstest.MapFS{
		"a/testdata/five":  {Data: []byte("# A-X-1 A-X-2 A-X-3\n# A-X-4 A-X-5\n\n# A-X-6\n")},
		"a/testdata/block": {Data: []byte("pod\n# A-X-1 A-X-2 A-X-3\n# A-X-4 A-X-5 A-X-6\n")},
		"a/line_test.go":   {Data: []byte("package a\n\nvar s = \"A-X-1 A-X-2 A-X-3 A-X-4 A-X-5 A-X-6\"\n")},
		"a/block_test.go":  {Data: []byte("package a\n\n// A-X-1 A-X-2 A-X-3 A-X-4\n// A-X-5\n// A-X-6\nvar a int // A-X-7\n")},
		"a/apart_test.go":  {Data: []byte("package a\n\n// A-X-1 A-X-2 A-X-3 A-X-4\n\n// A-X-5 A-X-6\n")},
	})).Must(t)
	want := []string{
		"a/block_test.go:3: the comment cites more than 5 rules: cite each where it is proven",
		"a/line_test.go:3: the line cites more than 5 rules: cite each where it is proven",
		"a/testdata/block:2: the comment cites more than 5 rules: cite each where it is proven",
	}
	assert.Deep(t, "crowded", want, crowded(citations))
}
