package architecture

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
)

var (
	link     = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	external = regexp.MustCompile(`^[a-z]+:`)
	marks    = regexp.MustCompile(`[^\p{L}\p{N}_\- ]`)
)

// TestLinks: what the documentation links to is there, a heading included.
func TestLinks(t *testing.T) {
	t.Chdir("../..")
	out := assert.Get(exec.Command("git", "ls-files", "*.md").Output()).Must(t)
	pages := map[string]string{}
	for name := range strings.FieldsSeq(string(out)) {
		text := assert.Get(os.ReadFile(name)).Must(t)
		pages[name] = string(text)
	}
	for name, text := range pages {
		for _, match := range link.FindAllStringSubmatch(text, -1) {
			path, heading, _ := strings.Cut(match[1], "#")
			if external.MatchString(path) {
				continue
			}
			to := name
			if path != "" {
				to = filepath.Join(filepath.Dir(name), path)
			}
			if _, err := os.Stat(to); err != nil {
				t.Errorf("%s links to %s: %v", name, match[1], err)
			} else if page, is := pages[to]; is && heading != "" && !hasHeading(page, heading) {
				t.Errorf("%s links to %s: %s has no such heading", name, match[1], to)
			}
		}
	}
}

// hasHeading says whether a page has a heading that GitHub gives this name.
func hasHeading(page, name string) bool {
	code := false
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, "```") {
			code = !code
		}
		if title := strings.TrimLeft(line, "#"); !code && title != line &&
			strings.ReplaceAll(marks.ReplaceAllString(strings.ToLower(strings.TrimSpace(title)), ""), " ", "-") == name {
			return true
		}
	}
	return false
}

// TestOnePage: whoever is new reads docs/architecture.md first, so that it stays one page. What is in a folder its doc.go says.
func TestOnePage(t *testing.T) {
	text := assert.Get(os.ReadFile("../../docs/architecture.md")).Must(t)
	words := len(strings.Fields(string(text)))
	assert.True(t, words <= 900, "docs/architecture.md has %d words: at most 900", words)
	rows := strings.Count(string(text), "\n| ") - 2
	assert.True(t, rows <= 10, "docs/architecture.md has a table of %d rows: at most 10", rows)
}

// TestRootsPlacesAreAttacked: each row of docs/security.md about root's places names tests, and those exist.
func TestRootsPlacesAreAttacked(t *testing.T) {
	text := assert.Get(os.ReadFile("../../docs/security.md")).Must(t)
	_, places, found := strings.Cut(string(text), "\n## Root's places\n")
	assert.Require(t, found, "docs/security.md has no part about root's places")
	command := exec.Command("git", "grep", "-hoE", "^func (Test|Fuzz)[A-Za-z0-9]+", "--", "*_test.go")
	command.Dir = "../.."
	tests := assert.Get(command.Output()).Must(t)
	name, rows := regexp.MustCompile("`((?:Test|Fuzz)[A-Za-z0-9]+)`"), 0
	for line := range strings.Lines(places) {
		cells := strings.Split(strings.TrimSpace(line), " | ")
		if len(cells) < 4 || cells[0] == "| place" || strings.HasPrefix(cells[0], "| ---") {
			continue
		}
		rows++
		attacks := name.FindAllStringSubmatch(cells[len(cells)-1], -1)
		assert.True(t, len(attacks) != 0, "no test attacks %s", cells[0])
		for _, test := range attacks {
			assert.True(t, strings.Contains(string(tests), "func "+test[1]+"\n"), "%s of %s is no test", test[1], cells[0])
		}
	}
	assert.True(t, rows >= 10, "%d rows were found", rows)
}
