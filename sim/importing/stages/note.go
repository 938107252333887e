package stages

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Note is one thing that a scenario does not have.
type Note struct {
	File  string
	Line  int    // 0: it is about none in particular
	Stage string // empty: it is about none
	Field string // of the Stage, such as spec.steps[0].event; empty: it is about all of it
	Text  string
}

// String is the note as a line.
func (n Note) String() string {
	text := n.Text
	if n.Field != "" {
		text = n.Field + ": " + text
	}
	if n.Stage != "" {
		text = n.Stage + ": " + text
	}
	switch {
	case n.Line > 0:
		return fmt.Sprintf("%s:%d: %s", n.File, n.Line, text)
	case n.File != "":
		return n.File + ": " + text
	}
	return text
}

// Notes are what a scenario does not have, each once.
type Notes struct{ list []Note }

// All are the notes, in the order of the files and their lines; those about no file are the last ones.
func (n *Notes) All() []Note {
	var files []string
	for _, note := range n.list {
		if note.File != "" && !slices.Contains(files, note.File) {
			files = append(files, note.File)
		}
	}
	rank := func(note Note) int {
		if i := slices.Index(files, note.File); i >= 0 {
			return i
		}
		return len(files)
	}
	slices.SortStableFunc(n.list, func(a, b Note) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.Line, b.Line))
	})
	return n.list
}

// Say adds a note that is about no file.
func (n *Notes) Say(format string, args ...any) { n.add(Note{Text: fmt.Sprintf(format, args...)}) }

// Of adds a note about a field of a Stage.
func (n *Notes) Of(s *Stage, field []string, format string, args ...any) {
	n.add(Note{File: s.file, Line: s.line(field...), Stage: s.Name, Field: pathOf(field), Text: fmt.Sprintf(format, args...)})
}

// pathOf is a field as Kubernetes writes it.
func pathOf(field []string) string {
	var path strings.Builder
	for i, name := range field {
		switch _, err := strconv.Atoi(name); {
		case err == nil:
			path.WriteString("[" + name + "]")
		case i > 0:
			path.WriteString("." + name)
		default:
			path.WriteString(name)
		}
	}
	return path.String()
}

func (n *Notes) add(note Note) {
	if !slices.Contains(n.list, note) {
		n.list = append(n.list, note)
	}
}

// OfStatus adds a note about the status that a Stage gives the pod.
func (n *Notes) OfStatus(s *Stage, format string, args ...any) {
	for i := range s.steps {
		if s.steps[i].Patch != nil {
			n.Of(s, s.steps[i].at, format, args...)
			return
		}
	}
	n.Of(s, nil, format, args...)
}
