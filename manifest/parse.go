package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	kjson "sigs.k8s.io/json"
	k8syaml "sigs.k8s.io/yaml"
)

// parsed is a document as a tree: value for what it means, root for where it stands in the file.
type parsed struct {
	document
	value map[string]any
	root  *yaml.Node // nil for JSON that the YAML parser does not take; then lines are unknown
}

// parse reads one document. It is parsed twice: once for lines and limits, once as Kubernetes does,
// whose YAML is 1.1 (0644 is octal, yes is a boolean).
func parse(d document) (*parsed, []*Error) {
	p := &parsed{document: d}
	var node yaml.Node
	err := yaml.Unmarshal(d.text, &node)
	if err != nil && !d.json {
		return nil, []*Error{d.syntaxError(err)}
	}
	if err == nil {
		p.root = &node
		if errs := checkNodes(&d, &node); errs != nil {
			return nil, errs
		}
	}
	text := d.text
	if !d.json {
		if text, err = k8syaml.YAMLToJSON(d.text); err != nil {
			return nil, []*Error{d.syntaxError(err)}
		}
	}
	var value any
	twice, err := kjson.UnmarshalStrict(text, &value, kjson.DisallowDuplicateFields)
	if err != nil {
		twice = append(twice, err)
	}
	for _, err := range twice { // only JSON of which the YAML parser cannot tell more comes here
		return nil, []*Error{d.errorf(0, "", "the JSON cannot be read: %v", err)}
	}
	switch v := value.(type) {
	case map[string]any:
		p.value = v
		return p, nil
	case nil:
		return nil, nil
	default:
		return nil, []*Error{d.errorf(1, "should be a mapping that starts with apiVersion: v1 and kind: Pod", "the document is %s", describe(v))}
	}
}

var (
	yamlLine      = regexp.MustCompile(`^line (\d+): `)
	unknownAnchor = regexp.MustCompile(`^unknown anchor '(.+)' referenced`)
)

// syntaxError says on which line of the file the document cannot be read.
func (d *document) syntaxError(err error) *Error {
	if e := d.jsonError(); e != nil {
		return e
	}
	text := strings.TrimPrefix(err.Error(), "error converting YAML to JSON: ")
	text = strings.TrimPrefix(text, "yaml: ")
	text, _, _ = strings.Cut(strings.TrimPrefix(text, "unmarshal errors:\n  "), "\n")
	line := 0
	if m := yamlLine.FindStringSubmatch(text); m != nil {
		line, _ = strconv.Atoi(m[1])
		text = text[len(m[0]):]
	} else if m := unknownAnchor.FindStringSubmatch(text); m != nil {
		before, _, _ := bytes.Cut(d.text, []byte("*"+m[1]))
		line = 1 + bytes.Count(before, []byte("\n"))
	}
	return d.errorf(line, d.syntaxHint(text, line), "YAML syntax: %s", text)
}

// jsonError is the error of a document that was meant as JSON, nil if it is JSON or YAML was meant.
func (d *document) jsonError() *Error {
	inner, braced := bytes.CutPrefix(bytes.TrimSpace(d.text), []byte("{"))
	if !braced || !bytes.HasPrefix(bytes.TrimSpace(inner), []byte(`"`)) {
		return nil
	}
	var v any
	var syntax *json.SyntaxError
	if err := json.Unmarshal(d.text, &v); !errors.As(err, &syntax) {
		return nil
	}
	line := 1 + bytes.Count(d.text[:max(0, int(syntax.Offset)-1)], []byte("\n"))
	return d.errorf(line, "", "JSON syntax: %v", syntax)
}

// syntaxHint tells what is behind the parser's commonest complaints.
func (d *document) syntaxHint(problem string, line int) string {
	lines := bytes.Split(d.text, []byte("\n"))
	switch {
	case line > 0 && line <= len(lines) && bytes.HasPrefix(bytes.TrimLeft(lines[line-1], " "), []byte("\t")):
		return "indent with spaces, YAML allows no tabs"
	case strings.Contains(problem, "mapping values are not allowed"):
		return "look for a wrong indentation or an unquoted ': ' on this line or the one before"
	case strings.Contains(problem, "did not find expected"):
		return "look for a wrong indentation or a missing quote near this line"
	default:
		return ""
	}
}

// describe says what a value is, in the words of YAML.
func describe(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case string:
		return "a string"
	case bool:
		return fmt.Sprintf("a boolean (%v)", v)
	case int64, float64:
		return fmt.Sprintf("a number (%v)", v)
	case []any:
		return "a list"
	default:
		return "a mapping"
	}
}
