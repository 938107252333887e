package manifest

import (
	"fmt"

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
	err := yaml.Unmarshal(d.Text, &node)
	if err != nil && !d.JSON {
		return nil, []*Error{d.syntaxError(d.Find(err))}
	}
	if err == nil {
		p.root = &node
		if errs := checkNodes(&d, &node); errs != nil {
			return nil, errs
		}
	}
	text := d.Text
	if !d.JSON {
		if text, err = k8syaml.YAMLToJSON(d.Text); err != nil {
			return nil, []*Error{d.syntaxError(d.Find(err))}
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
		return nil, []*Error{d.errorf(1, "should be a mapping that starts with apiVersion: v1 and kind: Pod", "the document is %s", describe(v, ""))}
	}
}

// describe says what a value is, in the words of YAML. text is how it is written; empty: as its value.
func describe(v any, text string) string {
	if text == "" {
		text = fmt.Sprint(v)
	}
	switch v.(type) {
	case nil:
		return "null"
	case string:
		return "a string"
	case bool:
		return fmt.Sprintf("a boolean (%s)", text)
	case int64, float64:
		return fmt.Sprintf("a number (%s)", text)
	case []any:
		return "a list"
	default:
		return "a mapping"
	}
}
