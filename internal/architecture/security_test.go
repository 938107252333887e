package architecture

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
)

// TestRootsPlacesAreAttacked: each row of docs/security.md about root's places names tests, and those exist.
func TestRootsPlacesAreAttacked(t *testing.T) {
	text, err := os.ReadFile("../../docs/security.md")
	assert.Must(t, err)
	_, places, found := strings.Cut(string(text), "\n## Root's places\n")
	if !found {
		t.Fatal("docs/security.md has no part about root's places")
	}
	command := exec.Command("git", "grep", "-hoE", "^func (Test|Fuzz)[A-Za-z0-9]+", "--", "*_test.go")
	command.Dir = "../.."
	tests, err := command.Output()
	assert.Must(t, err)
	name, rows := regexp.MustCompile("`((?:Test|Fuzz)[A-Za-z0-9]+)`"), 0
	for line := range strings.Lines(places) {
		cells := strings.Split(strings.TrimSpace(line), " | ")
		if len(cells) < 4 || cells[0] == "| place" || strings.HasPrefix(cells[0], "| ---") {
			continue
		}
		rows++
		attacks := name.FindAllStringSubmatch(cells[len(cells)-1], -1)
		if len(attacks) == 0 {
			t.Errorf("no test attacks %s", cells[0])
		}
		for _, test := range attacks {
			if !strings.Contains(string(tests), "func "+test[1]+"\n") {
				t.Errorf("%s of %s is no test", test[1], cells[0])
			}
		}
	}
	if rows < 10 {
		t.Errorf("%d rows were found", rows)
	}
}
