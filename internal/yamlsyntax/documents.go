package yamlsyntax

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"unicode/utf8"
)

// Document is one document of a file, YAML or JSON, with more in it than comments.
type Document struct {
	Line int // 1-based line of the file at which Text begins
	Text []byte
	JSON bool
}

// byteOrderMark may stand before each document of a file, as where files that have one were joined.
const byteOrderMark = "\ufeff"

// breaks end lines for the YAML packages, once Documents has made line feeds of carriage returns.
const breaks = "\n\u0085\u2028\u2029"

// Documents takes a file apart. It ends lines where the YAML packages do, so that they see the same documents
// (FuzzDocuments). A file that starts like JSON and is not JSON is taken for YAML, whose flow style starts alike.
func Documents(file []byte) ([]Document, *Problem) {
	if p := checkText(file); p != nil {
		return nil, p
	}
	file = bytes.ReplaceAll(file, []byte("\r\n"), []byte("\n"))
	file = bytes.ReplaceAll(file, []byte("\r"), []byte("\n"))
	if start := bytes.TrimLeft(file, byteOrderMark+" \t\n"); len(start) > 0 && start[0] == '{' {
		if documents := splitJSON(file); documents != nil {
			return documents, nil
		}
	}
	return splitYAML(file), nil
}

// Only is the one document of a file that should be a want.
func Only(file []byte, want string) (Document, error) {
	documents, problem := Documents(file)
	switch {
	case problem != nil:
		return Document{}, problem
	case len(documents) == 0:
		return Document{}, fmt.Errorf("is empty: should be a %s, with apiVersion and kind", want)
	case len(documents) > 1:
		return Document{}, fmt.Errorf("has several documents: should be one %s", want)
	}
	return documents[0], nil
}

// checkText refuses what is not UTF-8. A file that starts as no text in UTF-8 does, with a zero among its first two
// characters, is UTF-16 or UTF-32 without a mark: what is read here starts with a character of ASCII.
func checkText(file []byte) *Problem {
	is := func(prefixes ...string) bool {
		return slices.ContainsFunc(prefixes, func(p string) bool { return bytes.HasPrefix(file, []byte(p)) })
	}
	switch first := file[:min(2, len(file))]; {
	case is("\xff\xfe\x00\x00", "\x00\x00\xfe\xff", "\x00\x00\x00") || len(file) > 3 && bytes.Equal(file[1:4], make([]byte, 3)):
		return &Problem{Text: "the file is UTF-32 text", Hint: wantUTF8}
	case is("\xff\xfe", "\xfe\xff") || bytes.IndexByte(first, 0) >= 0:
		return &Problem{Text: "the file is UTF-16 text", Hint: wantUTF8}
	case utf8.Valid(file):
		return nil
	}
	valid := 0
	for {
		r, size := utf8.DecodeRune(file[valid:])
		if r == utf8.RuneError && size <= 1 {
			break
		}
		valid += size
	}
	return &Problem{Line: Lines(file[:valid]), Text: "the file is not UTF-8 text", Hint: "should be YAML or JSON in UTF-8"}
}

const wantUTF8 = "save it as UTF-8"

// Lines is the number of the line on which a text ends, which the YAML packages count in the same way.
func Lines(text []byte) int {
	n := 1 - bytes.Count(text, []byte("\r\n"))
	for _, r := range "\r" + breaks {
		n += bytes.Count(text, []byte(string(r)))
	}
	return n
}

// splitJSON takes apart JSON objects that follow one another; nil if there is something else.
func splitJSON(file []byte) (documents []Document) {
	for offset := 0; ; {
		rest := bytes.TrimLeft(file[offset:], byteOrderMark+" \t\n")
		if len(rest) == 0 {
			return documents
		}
		offset = len(file) - len(rest)
		var text json.RawMessage
		if json.NewDecoder(bytes.NewReader(rest)).Decode(&text) != nil {
			return nil
		}
		documents = append(documents, Document{Line: 1 + bytes.Count(file[:offset], []byte("\n")), Text: text, JSON: true})
		offset += len(text)
	}
}

// splitYAML cuts at the lines that YAML reserves for it: --- before a document, ... after one. The
// line --- itself stays with the document that it starts, because content may follow on the same line;
// so do %-directives before it. Documents of nothing but comments are left out.
func splitYAML(file []byte) []Document {
	c := yamlCutter{data: file, line: 1, blank: true}
	for offset, number := 0, 1; offset < len(file); number++ {
		end := lineEnd(file, offset)
		line, marked := bytes.CutPrefix(file[offset:end], []byte(byteOrderMark))
		marker := isMarker(line, "---")
		if marked && (marker || c.blank && !c.directive) {
			c.cut(offset, number)
			c.start += len(byteOrderMark)
		}
		switch {
		case marker:
			if !c.directive && !marked {
				c.cut(offset, number)
			}
			c.directive = false
			c.blank = isBlank(line[3:])
		case isMarker(line, "..."):
			c.cut(end, number+1)
		case c.blank && bytes.HasPrefix(line, []byte("%")):
			c.directive = true
		default:
			c.blank = c.blank && isBlank(line)
		}
		offset = end
	}
	c.cut(len(file), 0)
	return c.documents
}

// yamlCutter is where splitYAML stands: in the document that begins at start.
type yamlCutter struct {
	data      []byte
	documents []Document
	start     int
	line      int  // of start
	blank     bool // nothing but comments so far
	directive bool // a %-directive awaits its ---
}

// cut ends the document before the given offset and begins the next one there.
func (c *yamlCutter) cut(offset, line int) {
	if !c.blank {
		c.documents = append(c.documents, Document{Line: c.line, Text: c.data[c.start:offset]})
	}
	c.start, c.line, c.blank, c.directive = offset, line, true, false
}

// lineEnd is the offset behind the line that begins at the given one.
func lineEnd(text []byte, begin int) int {
	i := bytes.IndexAny(text[begin:], breaks)
	if i < 0 {
		return len(text)
	}
	_, size := utf8.DecodeRune(text[begin+i:])
	return begin + i + size
}

// isMarker says whether a line is a document marker, alone or with something after it.
func isMarker(line []byte, marker string) bool {
	rest, ok := bytes.CutPrefix(line, []byte(marker))
	return ok && (len(rest) == 0 || bytes.IndexAny(rest[:min(3, len(rest))], " \t"+breaks) == 0)
}

// isBlank says whether a line holds nothing, or only a comment.
func isBlank(line []byte) bool {
	line = bytes.Trim(line, " \t"+breaks)
	return len(line) == 0 || line[0] == '#'
}
