package plain

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text is a text without control characters other than newlines and tabs, and without those
// that turn the direction of writing.
func Text(text string) string {
	if strings.IndexFunc(text, suspicious) < 0 {
		return text
	}
	var out strings.Builder
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&out, `\x%02x`, text[i])
		case suspicious(r) && r != utf8.RuneError:
			out.WriteString(escape(r))
		default:
			out.WriteRune(r)
		}
		i += size
	}
	return out.String()
}

// Line is Text on one line, with spaces instead of newlines and tabs.
func Line(text string) string {
	return strings.NewReplacer("\n", " ", "\t", " ").Replace(Text(strings.TrimSpace(text)))
}

// suspicious says whether a character may need to be replaced.
func suspicious(r rune) bool {
	return r != '\n' && r != '\t' && (unicode.IsControl(r) || changesDirection(r) || r == utf8.RuneError)
}

// changesDirection says whether a character has no look of its own and turns the direction of writing:
// with it, a name can look like another one.
func changesDirection(r rune) bool { return unicode.Is(unicode.Bidi_Control, r) }

// escape is what stands for a control character.
func escape(r rune) string {
	switch {
	case r == '\r':
		return `\r`
	case r < 0x80:
		return "^" + string(r^0x40)
	}
	return fmt.Sprintf(`\u%04x`, r)
}

// JSONVersion is the version of what commands write as JSON, whose schema is docs/schema.json: fields are only added to it.
const JSONVersion = 1

// JSON is the same JSON, in which the control characters that encoding/json leaves as they
// are, those from U+007F on, and those that turn the direction of writing are escaped.
func JSON(text []byte) []byte {
	if bytes.IndexFunc(text, unescaped) < 0 {
		return text
	}
	var out bytes.Buffer
	for _, r := range string(text) {
		if unescaped(r) {
			fmt.Fprintf(&out, `\u%04x`, r)
			continue
		}
		out.WriteRune(r)
	}
	return out.Bytes()
}

func unescaped(r rune) bool { return r >= 0x7f && unicode.IsControl(r) || changesDirection(r) }

// Writer writes Text to w; a call has to have whole characters.
func Writer(w io.Writer) io.Writer { return writer{w} }

type writer struct{ io.Writer }

// Write implements io.Writer.
func (w writer) Write(text []byte) (int, error) {
	if _, err := io.WriteString(w.Writer, Text(string(text))); err != nil {
		return 0, err
	}
	return len(text), nil
}

// Count says how many there are of a thing: 1 pod, 2 pods, 3 processes.
func Count(n int, what string) string {
	switch {
	case n == 1:
		return "1 " + what
	case strings.HasSuffix(what, "s"):
		what += "e"
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Nearest is the known name that a misspelt one most likely means, empty if none is near. Names that
// differ in case only are nearest of all.
func Nearest(name string, known []string) string {
	if names := NearestNames(name, known, 1); len(names) > 0 {
		return names[0]
	}
	return ""
}

// NearestNames are up to so many of them, the nearest first.
func NearestNames(name string, known []string, most int) []string {
	type near struct {
		name     string
		distance int
	}
	var all []near
	for _, k := range known[:min(len(known), maxKnown)] {
		if d := distance(strings.ToLower(name), strings.ToLower(k)); d <= max(2, len(name)/3) && 2*d <= len(name) {
			all = append(all, near{k, d})
		}
	}
	slices.SortStableFunc(all, func(a, b near) int { return a.distance - b.distance })
	var names []string
	for _, n := range all[:min(len(all), most)] {
		names = append(names, n.name)
	}
	return names
}

// What bounds the work of comparing names; no type of the API comes near either.
const (
	maxKnown      = 500
	maxNameLength = 80
)

// distance is the Levenshtein distance: how many letters to insert, delete or replace.
func distance(a, b string) int {
	if max(len(a), len(b)) > maxNameLength {
		return max(len(a), len(b))
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}
