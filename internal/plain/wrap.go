package plain

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Width is how many columns of a terminal a text takes.
func Width(text string) int { return ansi.StringWidthWc(text) }

// Wrap breaks a text between words, or Chinese characters, into lines of at most so many columns; those after the first begin with an indent. A word that
// is longer has a line of its own.
func Wrap(text string, columns int, indent string) string {
	var b strings.Builder
	used := 0
	for word := range strings.FieldsSeq(text) {
		before := " "
		for _, part := range parts(word) {
			width := Width(part)
			switch {
			case used == 0:
				before, _, _ = strings.Cut(text, part)
			case used+len(before)+width > columns:
				b.WriteByte('\n')
				before, used = indent, 0
			}
			b.WriteString(before + part)
			used, before = used+len(before)+width, ""
		}
	}
	return b.String()
}

// parts are what a word may be broken into: Chinese has no spaces between words. A line does not begin with what closes or separates,
// and does not end with what opens.
func parts(word string) (list []string) {
	begin, last := 0, 'a'
	for i, r := range word {
		if i > 0 && Width(string(last)+string(r)) > 2 && !strings.ContainsRune("，。；：、）！？”…", r) && !strings.ContainsRune("（“", last) {
			list, begin = append(list, word[begin:i]), i
		}
		last = r
	}
	return append(list, word[begin:])
}
