package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
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
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&value); err != nil && !errors.Is(err, io.EOF) {
		return nil, []*Error{d.errorf(0, "", "the JSON cannot be read: %v", err)}
	}
	switch v := value.(type) {
	case map[string]any:
		p.value = v
		return p, nil
	case nil:
		return nil, nil
	default:
		return nil, []*Error{d.errorf(1, "a mapping that starts with apiVersion: v1 and kind: Pod", "the document is %s", describe(v))}
	}
}

var yamlLine = regexp.MustCompile(`^line (\d+): `)

// syntaxError takes the line out of a YAML error's text, and counts it from the start of the file.
func (d *document) syntaxError(err error) *Error {
	text := strings.TrimPrefix(err.Error(), "error converting YAML to JSON: ")
	text = strings.TrimPrefix(text, "yaml: ")
	line := 0
	if m := yamlLine.FindStringSubmatch(text); m != nil {
		line, _ = strconv.Atoi(m[1])
		text = text[len(m[0]):]
	}
	if text = strings.TrimPrefix(text, "unmarshal errors:\n"); strings.Contains(text, "\n") {
		text, _, _ = strings.Cut(text, "\n")
	}
	kind := "YAML"
	if bytes.HasPrefix(bytes.TrimSpace(d.text), []byte("{")) && jsonError(d.text) != nil {
		kind = "YAML or JSON"
	}
	return d.errorf(line, syntaxHint(text), "%s syntax: %s", kind, strings.TrimSpace(text))
}

func jsonError(text []byte) error {
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		return fmt.Errorf("read JSON: %w", err)
	}
	return nil
}

// syntaxHint tells what is behind the parser's commonest complaints.
func syntaxHint(problem string) string {
	switch {
	case strings.Contains(problem, "cannot start any token") && strings.Contains(problem, `'\t'`):
		return "indent with spaces, YAML allows no tabs"
	case strings.Contains(problem, "mapping values are not allowed"):
		return "look for a wrong indentation or an unquoted ': ' on this line or the one before"
	case strings.Contains(problem, "did not find expected key"), strings.Contains(problem, "did not find expected '-' indicator"):
		return "look for a wrong indentation near this line"
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
	case json.Number:
		return fmt.Sprintf("a number (%s)", v)
	case []any:
		return "a list"
	default:
		return "a mapping"
	}
}
