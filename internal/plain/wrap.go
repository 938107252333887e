package plain

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Width is how many columns of a terminal a text takes.
func Width(text string) int { return ansi.StringWidthWc(text) }

// Wrap breaks a text between words into lines of at most so many columns; those after the first begin with an indent. A word that
// is longer has a line of its own.
func Wrap(text string, columns int, indent string) string {
	var b strings.Builder
	used := 0
	for word := range strings.FieldsSeq(text) {
		width := Width(word)
		switch {
		case used == 0:
			lead, _, _ := strings.Cut(text, word)
			b.WriteString(lead)
			used = len(lead)
		case used+1+width > columns:
			b.WriteString("\n" + indent)
			used = len(indent)
		default:
			b.WriteByte(' ')
			used++
		}
		b.WriteString(word)
		used += width
	}
	return b.String()
}
