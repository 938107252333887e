package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/lifepod/lifepod/internal/yamlsyntax"
)

// maxDocumentBytes is what an API server takes in one request; maxBytes bounds all files together.
const (
	maxDocumentBytes = 3 << 20
	maxBytes         = 32 << 20
)

// document is one non-empty YAML or JSON document of a file.
type document struct {
	file   string
	number int // see Error.Document
	line   int // 1-based line of the file at which text starts
	text   []byte
	json   bool
}

func (d *document) errorf(line int, want, format string, args ...any) *Error {
	if line > 0 {
		line += d.line - 1
	}
	return &Error{File: d.file, Document: d.number, Line: line, Problem: fmt.Sprintf(format, args...), Want: want}
}

// syntaxError is for a document that cannot be read.
func (d *document) syntaxError(p *yamlsyntax.Problem) *Error {
	return &Error{File: d.file, Document: d.number, Line: p.Line, Problem: p.Text, Want: p.Hint}
}

// split takes a file apart. A file that starts like JSON and is not JSON is taken for YAML, whose flow
// style starts alike.
func split(s Source) ([]document, *Error) {
	data := bytes.TrimPrefix(s.Data, []byte("\xef\xbb\xbf"))
	if err := checkText(s.Name, data); err != nil {
		return nil, err
	}
	var documents []document
	if start := bytes.TrimLeft(data, " \t\r\n"); len(start) > 0 && start[0] == '{' {
		documents, _ = splitJSON(s.Name, data)
	}
	if documents == nil {
		documents = splitYAML(s.Name, data)
	}
	for i := range documents {
		if len(documents) > 1 {
			documents[i].number = i + 1
		}
		if len(documents[i].text) > maxDocumentBytes {
			return nil, documents[i].errorf(1, fmt.Sprintf("should be at most %d MiB, the limit of a Kubernetes API server", maxDocumentBytes>>20),
				"the document has %d bytes", len(documents[i].text))
		}
	}
	return documents, nil
}

func checkText(file string, data []byte) *Error {
	if bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff")) {
		return &Error{File: file, Problem: "the file is UTF-16 text", Want: "save it as UTF-8"}
	}
	if utf8.Valid(data) {
		return nil
	}
	line := 1
	for rest := data; ; {
		r, size := utf8.DecodeRune(rest)
		if r == utf8.RuneError && size <= 1 {
			return &Error{File: file, Line: line, Problem: "the file is not UTF-8 text", Want: "should be YAML or JSON in UTF-8"}
		}
		if r == '\n' {
			line++
		}
		rest = rest[size:]
	}
}

// splitJSON takes apart JSON objects that follow one another.
func splitJSON(file string, data []byte) ([]document, error) {
	var documents []document
	decoder := json.NewDecoder(bytes.NewReader(data))
	for {
		var text json.RawMessage
		if err := decoder.Decode(&text); errors.Is(err, io.EOF) {
			return documents, nil
		} else if err != nil {
			return nil, err
		}
		start := int(decoder.InputOffset()) - len(text)
		line := 1 + bytes.Count(data[:start], []byte("\n"))
		documents = append(documents, document{file: file, line: line, text: text, json: true})
	}
}

// splitYAML cuts at the lines that YAML reserves for it: --- before a document, ... after one. The
// line --- itself stays with the document that it starts, because content may follow on the same line;
// so do %-directives before it. Documents of nothing but comments are left out.
func splitYAML(file string, data []byte) []document {
	c := yamlCutter{file: file, data: data, line: 1, blank: true}
	for offset, number := 0, 1; offset < len(data); number++ {
		end := len(data)
		if i := bytes.IndexByte(data[offset:], '\n'); i >= 0 {
			end = offset + i + 1
		}
		line := data[offset:end]
		switch {
		case isMarker(line, "---"):
			if !c.directive {
				c.cut(offset, number)
			}
			c.directive = false
			c.blank = isBlank(line[3:])
		case isMarker(line, "..."):
			c.cut(end, number+1)
		case c.blank && line[0] == '%':
			c.directive = true
		default:
			c.blank = c.blank && isBlank(line)
		}
		offset = end
	}
	c.cut(len(data), 0)
	return c.documents
}

// yamlCutter is where splitYAML stands: in the document that begins at start.
type yamlCutter struct {
	file      string
	data      []byte
	documents []document
	start     int
	line      int  // of start
	blank     bool // nothing but comments so far
	directive bool // a %-directive awaits its ---
}

// cut ends the document before the given offset and begins the next one there.
func (c *yamlCutter) cut(offset, line int) {
	if !c.blank {
		c.documents = append(c.documents, document{file: c.file, line: c.line, text: c.data[c.start:offset]})
	}
	c.start, c.line, c.blank, c.directive = offset, line, true, false
}

// isMarker says whether a line is a document marker, alone or with something after it.
func isMarker(line []byte, marker string) bool {
	rest, ok := bytes.CutPrefix(line, []byte(marker))
	return ok && (len(rest) == 0 || strings.IndexByte(" \t\r\n", rest[0]) >= 0)
}

// isBlank says whether a line holds nothing, or only a comment.
func isBlank(line []byte) bool {
	line = bytes.TrimSpace(line)
	return len(line) == 0 || line[0] == '#'
}
