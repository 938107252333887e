package command

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lifepod/lifepod/internal/assert"
)

var rewrite = flag.Bool("rewrite", false, "write what the commands in docs/sim.md and docs/guide print into them")

// session is a command line in the documentation, and what it prints.
var session = regexp.MustCompile("(?s)```\n\\$ lifepod sim ([^\n]*)\n(.*?)```\n")

// What docs/sim.md and the guide show is what the commands in them print.
func TestDocumentationShowsWhatIsPrinted(t *testing.T) {
	t.Chdir("../..")
	english := assert.Get(filepath.Glob("docs/guide/*.md")).Must(t)
	chinese := assert.Get(filepath.Glob("docs/zh/guide/*.md")).Must(t)
	sessions := 0
	for _, document := range slices.Concat(english, chinese, []string{"docs/sim.md"}) {
		text := assert.Get(os.ReadFile(document)).Must(t)
		now := session.ReplaceAllStringFunc(string(text), func(block string) string {
			sessions++
			parts := session.FindStringSubmatch(block)
			printed := both(t, words(parts[1]))
			if diff := cmp.Diff(parts[2], printed); diff != "" && !*rewrite {
				t.Errorf("%s: lifepod sim %s (-documentation +printed):\n%s", document, parts[1], diff)
			}
			return "```\n$ lifepod sim " + parts[1] + "\n" + printed + "```\n"
		})
		if *rewrite {
			assert.Must(t, os.WriteFile(document, []byte(now), 0o600))
		}
	}
	assert.Require(t, sessions >= 25, "the documentation has %d sessions", sessions)
}

// words are those of a command line; those in quotes are one.
func words(line string) (list []string) {
	for _, w := range regexp.MustCompile(`'[^']*'|\S+`).FindAllString(line, -1) {
		list = append(list, strings.Trim(w, "'"))
	}
	return list
}

// both is what a command prints on stdout and stderr, as a terminal shows it.
func both(t *testing.T, args []string) string {
	t.Helper()
	var out bytes.Buffer
	code := 0
	c := New(&code)
	c.SilenceUsage, c.SilenceErrors = true, true
	c.SetOut(&out)
	c.SetErr(&out)
	c.SetArgs(args)
	err := c.ExecuteContext(t.Context())
	assert.True(t, err == nil, "%v: %v", args, err)
	return out.String()
}
