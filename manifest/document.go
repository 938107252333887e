package manifest

import (
	"fmt"

	"github.com/lifepod/lifepod/internal/yamlsyntax"
)

// maxDocumentBytes is what an API server takes in one request; maxBytes bounds all files together.
const (
	maxDocumentBytes = 3 << 20
	maxBytes         = 32 << 20
)

// document is one non-empty YAML or JSON document of a file.
type document struct {
	yamlsyntax.Document
	file   string
	number int // see Error.Document
}

func (d *document) errorf(line int, want, format string, args ...any) *Error {
	if line > 0 {
		line += d.Line - 1
	}
	return &Error{File: d.file, Document: d.number, Line: line, Problem: fmt.Sprintf(format, args...), Want: want}
}

// syntaxError is for a document that cannot be read.
func (d *document) syntaxError(p *yamlsyntax.Problem) *Error {
	return &Error{File: d.file, Document: d.number, Line: p.Line, Problem: p.Text, Want: p.Hint}
}

// split takes a file apart.
func split(s Source) ([]document, *Error) {
	found, problem := yamlsyntax.Documents(s.Data)
	if problem != nil {
		return nil, (&document{file: s.Name}).syntaxError(problem)
	}
	var documents []document
	for i, f := range found {
		d := document{Document: f, file: s.Name}
		if len(found) > 1 {
			d.number = i + 1
		}
		if len(d.Text) > maxDocumentBytes {
			return nil, d.errorf(1, fmt.Sprintf("should be at most %d MiB, the limit of a Kubernetes API server", maxDocumentBytes>>20),
				"the document has %d bytes", len(d.Text))
		}
		documents = append(documents, d)
	}
	return documents, nil
}
