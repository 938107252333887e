package stages

import (
	"fmt"
	"slices"
)

// Note is one thing that a scenario does not have.
type Note struct {
	File  string
	Line  int    // 0: it is about none in particular
	Stage string // empty: it is about none
	Text  string
}

// String is the note as a line.
func (n Note) String() string {
	text := n.Text
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

// Notes are what a scenario does not have, each once, in the order in which it was found.
type Notes struct{ list []Note }

// All are the notes.
func (n *Notes) All() []Note { return n.list }

// Say adds a note that is about no file.
func (n *Notes) Say(format string, args ...any) { n.add(Note{Text: fmt.Sprintf(format, args...)}) }

// Of adds a note about a field of a Stage.
func (n *Notes) Of(s *Stage, field []string, format string, args ...any) {
	n.add(Note{File: s.file, Line: s.line(field...), Stage: s.Name, Text: fmt.Sprintf(format, args...)})
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
