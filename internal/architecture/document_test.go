package architecture

import (
	"os"
	"strings"
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
)

// TestOnePage: whoever is new reads docs/architecture.md first, so that it stays one page. What is in a folder its doc.go says.
func TestOnePage(t *testing.T) {
	text, err := os.ReadFile("../../docs/architecture.md")
	assert.Must(t, err)
	if words := len(strings.Fields(string(text))); words > 900 {
		t.Errorf("docs/architecture.md has %d words: at most 900", words)
	}
	if rows := strings.Count(string(text), "\n| ") - 2; rows > 10 {
		t.Errorf("docs/architecture.md has a table of %d rows: at most 10", rows)
	}
}
