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
	out, err := exec.Command("git", "ls-files", "*.md").Output()
	assert.Must(t, err)
	pages := map[string]string{}
	for name := range strings.FieldsSeq(string(out)) {
		text, err := os.ReadFile(name)
		assert.Must(t, err)
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
