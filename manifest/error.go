package manifest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/lifepod/lifepod/internal/plain"
)

// Error is one thing that is wrong with the input, and where. Read returns the first in the order of
// the input; the others found with it are in Also.
type Error struct {
	// File is the Name of the Source. Empty if the problem lies in no particular file.
	File string
	// Line is the 1-based line of the file, 0 if unknown.
	Line int
	// Document counts the file's non-empty documents from 1; 0 if the file has only one.
	Document int
	// Field is the path below the document, as Kubernetes writes it: spec.containers[0].image.
	Field string
	// Problem is what is wrong.
	Problem string
	// Want is what would be right, empty if Problem says it already.
	Want string
	// Also are further errors, none of which has an Also of its own.
	Also []*Error
}

// Error gives a line for the error itself and one more for each of Also.
func (e *Error) Error() string {
	lines := []string{e.line()}
	for _, also := range e.Also {
		lines = append(lines, "also: "+also.line())
	}
	return strings.Join(lines, "\n")
}

func (e *Error) line() string {
	var parts []string
	if e.File != "" && e.Line > 0 {
		parts = append(parts, fmt.Sprintf("%s:%d", e.File, e.Line))
	} else if e.File != "" {
		parts = append(parts, e.File)
	}
	if e.Document > 0 {
		parts = append(parts, fmt.Sprintf("document %d", e.Document))
	}
	if e.Field != "" {
		parts = append(parts, e.Field)
	}
	problem := e.Problem
	if e.Want != "" {
		problem += "; " + e.Want
	}
	return strings.Join(append(parts, problem), ": ")
}

// warningLines are lines for the user: one for each warning, and for one that is the same of many fields.
func (in *input) warningLines() (lines []string) {
	type warning struct{ field, problem string }
	places := map[warning]int{}
	for _, w := range in.warnings {
		places[warning{w.Field, w.Problem}]++
	}
	for _, w := range in.warnings {
		same := warning{w.Field, w.Problem}
		switch places[same] {
		case 0: // with the first
		case 1:
			lines = append(lines, w.line())
		default:
			lines = append(lines, w.line()+", and so in "+plain.Count(places[same]-1, "other place"))
		}
		places[same] = 0
	}
	return lines
}

// maxErrors is how many errors are reported at once: enough to mend a manifest in one go, few enough to be read.
const maxErrors = 20

// failure makes one error of all, in the order of the input. Of several errors on one field only the first
// found is kept, as the later ones are mostly its consequences.
func (in *input) failure() error {
	type place struct {
		file     string
		document int
		field    string
	}
	seen := map[place]bool{}
	errs := slices.DeleteFunc(in.errs, func(e *Error) bool {
		p := place{e.File, e.Document, e.Field}
		known := seen[p]
		seen[p] = e.Field != ""
		return known
	})
	file := func(e *Error) int {
		return slices.IndexFunc(in.sources, func(s Source) bool { return s.Name == e.File })
	}
	slices.SortStableFunc(errs, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(file(a), file(b)), cmp.Compare(a.Line, b.Line))
	})
	first := *errs[0]
	first.Also = errs[1:min(len(errs), maxErrors)]
	return &first
}
