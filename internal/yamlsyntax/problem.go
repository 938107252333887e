// Package yamlsyntax says what is wrong with text that is not YAML, and on which line
// of its file.
package yamlsyntax

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
	k8syaml "sigs.k8s.io/yaml"
)

// Problem is what is wrong with a document.
type Problem struct {
	Line int // of the file, 0 if that is unknown
	Text string
	Hint string // what to look for, or to do; "" if nothing is known
}

func (p *Problem) Error() string {
	text := p.Text
	if p.Line > 0 {
		text = fmt.Sprintf("line %d: %s", p.Line, text)
	}
	if p.Hint != "" {
		text += "; " + p.Hint
	}
	return text
}

func (d *Document) problem(line int, hint, format string, args ...any) *Problem {
	if line > 0 {
		line += d.Line - 1
	}
	return &Problem{Line: line, Text: fmt.Sprintf(format, args...), Hint: hint}
}

var (
	yamlLine      = regexp.MustCompile(`^line (\d+): `)
	twice         = regexp.MustCompile(`^key (".*") already set in map$`)
	unknownAnchor = regexp.MustCompile(`^unknown anchor '(.+)' referenced`)
)

// parserProblems are what the YAML parser, as opposed to its scanner, complains of. For these the problem
// is at the token that the parser did not expect; a scanner's problem is where the token begins that it
// could not read to its end.
var parserProblems = []string{
	"did not find expected key", "did not find expected '-' indicator", "did not find expected node content",
	"did not find expected ',' or ']'", "did not find expected ',' or '}'", "did not find expected <document start>",
}

// Find tells of a document for which the YAML packages have an error.
func (d *Document) Find(err error) *Problem {
	if p := d.jsonProblem(); p != nil {
		return p
	}
	at, what := d.syntaxProblem(err)
	if template := d.templateLine(); template > 0 && (at == 0 || template <= at) {
		return d.templateProblem(template)
	}
	if odd, name := d.oddIndent(at); odd > 0 {
		return d.problem(odd, "indent with plain spaces", "YAML syntax: %s stands in the indentation", name)
	}
	if m := twice.FindStringSubmatch(what); m != nil {
		return d.problem(at, "remove one", "the key %s is there twice", m[1])
	}
	return d.problem(at, d.syntaxHint(what, at), "YAML syntax: %s", what)
}

// Template tells of a document that is a template, nil if it does not look like one.
func (d *Document) Template() *Problem {
	if at := d.templateLine(); at > 0 {
		return d.templateProblem(at)
	}
	return nil
}

// syntaxProblem is the line of the document on which an error is, 0 if that is unknown, and the problem.
//
// yaml/v3 tells where the construct begins in which the parser is stuck, such as the list of all
// containers; yaml/v2 tells where the parser is stuck. Neither tells of the first line of a text, so that
// they are given an empty one before it.
func (d *Document) syntaxProblem(err error) (line int, text string) {
	shifted := slices.Concat([]byte("\n"), d.Text)
	var node yaml.Node
	var begin int
	if of := yaml.Unmarshal(shifted, &node); of != nil {
		begin, text = splitLine(of)
	} else {
		begin, text = splitLine(err)
		begin++ // undone below
	}
	if m := unknownAnchor.FindStringSubmatch(text); m != nil {
		before, _, _ := bytes.Cut(d.Text, []byte("*"+m[1]))
		return 1 + bytes.Count(before, []byte("\n")), text
	}
	if strings.Contains(text, "control characters are not allowed") {
		return d.controlCharacterLine(), text
	}
	if begin == 0 {
		return 0, text
	}
	if !slices.Contains(parserProblems, text) {
		return begin - 1, text // the empty line
	}
	_, of := k8syaml.YAMLToJSON(shifted)
	stuck, _ := splitLine(of) // counted from 0, which makes up for the empty line
	stuck = min(stuck, d.lastLine())
	if strings.HasPrefix(text, "did not find expected ','") && begin < stuck {
		text += fmt.Sprintf(" of what begins on line %d", begin+d.Line-1) // counted from 0, too
	}
	return stuck, text
}

// splitLine takes an error of the YAML packages apart; its line is 0 if it has none.
func splitLine(err error) (line int, text string) {
	if err == nil {
		return 0, ""
	}
	text = strings.TrimPrefix(err.Error(), "error converting YAML to JSON: ")
	text = strings.TrimPrefix(text, "yaml: ")
	text, _, _ = strings.Cut(strings.TrimPrefix(text, "unmarshal errors:\n  "), "\n")
	if m := yamlLine.FindStringSubmatch(text); m != nil {
		line, _ = strconv.Atoi(m[1])
		text = text[len(m[0]):]
	}
	return line, text
}

// lastLine is the number of lines up to the last that is not empty.
func (d *Document) lastLine() int {
	return 1 + bytes.Count(bytes.TrimRight(d.Text, " \t\r\n"), []byte("\n"))
}

// controlCharacterLine is the line of the first character that YAML does not allow anywhere.
func (d *Document) controlCharacterLine() int {
	before := d.Text
	if i := bytes.IndexFunc(d.Text, func(r rune) bool {
		return r < ' ' && r != '\t' && r != '\n' && r != '\r' || r >= 0x7f && r < 0xa0 && r != 0x85
	}); i >= 0 {
		before = d.Text[:i]
	}
	return 1 + bytes.Count(before, []byte("\n"))
}

// template is what stands in a line of a template that YAML does not take as text: an action that begins
// the line, an item or a value.
var template = regexp.MustCompile(`^\s*(?:-\s+)*(?:[^\s#'"{][^#'"{]*:\s+)?(\{\{.*|\{%.*)`)

// templateLine is the first line of the document with such an action, 0 if there is none.
func (d *Document) templateLine() int {
	for i, line := range bytes.Split(d.Text, []byte("\n")) {
		if template.Match(line) {
			return i + 1
		}
	}
	return 0
}

// templateProblem reports a template that has not been rendered.
func (d *Document) templateProblem(line int) *Problem {
	text := template.FindSubmatch(bytes.Split(d.Text, []byte("\n"))[line-1])[1]
	return d.problem(line, wantRendered, "YAML syntax: %s", bytes.TrimSpace(text))
}

const (
	wantRendered = "this looks like a template that was not rendered: pass on what is made of it, such as the output of helm template"
	wantReplaced = "this looks like a variable that was not replaced: pass on what is made of it, such as the output of envsubst"
)

// Hint says what is likely to be wrong with text that can't be used, "" if nothing is known: a template or a shell should
// have replaced it, or an editor has put characters there that look like others.
func Hint(text string) string {
	switch {
	case strings.Contains(text, "{{"), strings.Contains(text, "{%"):
		return wantRendered
	case strings.Contains(text, "${"), strings.HasPrefix(text, "$"):
		return wantReplaced
	case strings.ContainsAny(text, "“”„‟‘’"):
		return "it has typographic quotes: use \" or '"
	}
	if i := strings.IndexFunc(text, oddSpace); i >= 0 {
		r, _ := utf8.DecodeRuneInString(text[i:])
		return fmt.Sprintf("it has %s: use plain spaces", spaceName(r))
	}
	return ""
}

// oddSpace says whether a character looks like a space, or like nothing, and is none for YAML.
func oddSpace(r rune) bool {
	return r > unicode.MaxASCII && (unicode.IsSpace(r) || unicode.Is(unicode.Cf, r))
}

func spaceName(r rune) string {
	if r == '\u00a0' {
		return "a no-break space (U+00A0)"
	}
	return fmt.Sprintf("the invisible character %U", r)
}

// oddIndent finds the line, not after the given one, whose indentation has a character that is no space for YAML;
// 0 if there is none.
func (d *Document) oddIndent(until int) (line int, name string) {
	for i, text := range bytes.Split(d.Text, []byte("\n")) {
		if i >= until {
			break
		}
		indent := bytes.TrimLeft(text, " \t-")
		if r, _ := utf8.DecodeRune(indent); len(indent) > 0 && oddSpace(r) {
			return i + 1, spaceName(r)
		}
	}
	return 0, ""
}

// jsonProblem is that of a document that was meant as JSON, nil if it is JSON or YAML was meant.
func (d *Document) jsonProblem() *Problem {
	inner, braced := bytes.CutPrefix(bytes.TrimSpace(d.Text), []byte("{"))
	if !braced || !bytes.HasPrefix(bytes.TrimSpace(inner), []byte(`"`)) {
		return nil
	}
	var v any
	var syntax *json.SyntaxError
	if err := json.Unmarshal(d.Text, &v); !errors.As(err, &syntax) {
		return nil
	}
	line := 1 + bytes.Count(d.Text[:max(0, int(syntax.Offset)-1)], []byte("\n"))
	return d.problem(line, "", "JSON syntax: %v", syntax)
}

// syntaxHint tells what is behind the parser's commonest complaints.
func (d *Document) syntaxHint(problem string, line int) string {
	lines := bytes.Split(d.Text, []byte("\n"))
	switch {
	case line > 0 && line <= len(lines) && bytes.HasPrefix(bytes.TrimLeft(lines[line-1], " "), []byte("\t")):
		return "indent with spaces, YAML allows no tabs"
	case strings.Contains(problem, "mapping values are not allowed"):
		return "look for a wrong indentation or an unquoted ': ' on this line or the one before"
	case strings.Contains(problem, "unexpected end of stream"):
		return "look for a missing quote on this line"
	case strings.Contains(problem, "could not find expected ':'"):
		return "look for a missing colon on this line"
	case strings.Contains(problem, "cannot start any token"):
		return "put a value that begins with such a character in quotes"
	case strings.Contains(problem, "did not find expected"):
		return "look for a wrong indentation or a missing quote near this line"
	default:
		return ""
	}
}
