package manifest

import (
	"fmt"
	"math"
	"slices"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// What a document may grow to once its aliases are written out, and how deep it may go. A Pod is far
// below all three; a document made to exhaust memory is above one of them.
const (
	maxNodes        = 300_000
	maxScalarBytes  = 2 * maxDocumentBytes
	maxNestingDepth = 100
)

// size is what a node amounts to with its aliases written out.
type size struct{ nodes, bytes int }

// measure walks the nodes of a document once, aliases not followed but counted.
type measure struct {
	document *document
	sizes    map[*yaml.Node]size // of what has an anchor and is complete
	errs     []*Error            // duplicate keys
}

// checkNodes refuses documents that are too large, too deep or have a key twice in one mapping.
func checkNodes(d *document, root *yaml.Node) []*Error {
	m := &measure{document: d, sizes: map[*yaml.Node]size{}}
	if _, err := m.walk(root, nil, 0); err != nil {
		return []*Error{err}
	}
	return m.errs
}

func (m *measure) walk(n *yaml.Node, path *field.Path, depth int) (size, *Error) {
	if depth > maxNestingDepth {
		return size{}, m.document.errorf(n.Line, "", "the document is nested deeper than %d levels", maxNestingDepth)
	}
	if problem, want := notInJSON(n); problem != "" {
		e := m.document.errorf(n.Line, want, "%s", problem)
		e.Field = path.String()
		return size{}, e
	}
	total := size{nodes: 1, bytes: len(n.Value)}
	if n.Kind == yaml.AliasNode {
		aliased, complete := m.sizes[n.Alias]
		if !complete {
			return size{}, m.document.errorf(n.Line, "should name something that ends before it", "the alias *%s stands inside the node that it names", n.Value)
		}
		total = aliased
	}
	var seen map[string]int // line by key
	if n.Kind == yaml.MappingNode {
		seen = make(map[string]int, len(n.Content)/2)
	}
	for i, child := range n.Content {
		below := path
		switch {
		case n.Kind == yaml.MappingNode && i%2 == 0:
			if err := m.document.checkKey(child, n.Content[i+1]); err != nil {
				return size{}, err
			}
			m.duplicate(seen, child, childPath(path, child.Value))
		case n.Kind == yaml.MappingNode:
			below = childPath(path, n.Content[i-1].Value)
		case n.Kind == yaml.SequenceNode:
			below = indexPath(path, i)
		}
		s, err := m.walk(child, below, depth+1)
		if err != nil {
			return size{}, err
		}
		total.nodes += s.nodes
		total.bytes += s.bytes
		if total.nodes > maxNodes || total.bytes > maxScalarBytes {
			return size{}, m.document.errorf(n.Line, "", "the document is too large: more than %d nodes or %d bytes once its aliases are written out", maxNodes, maxScalarBytes)
		}
	}
	if n.Anchor != "" {
		m.sizes[n] = total
	}
	return total, nil
}

// duplicate notes a key that its mapping has already. Kubernetes would take the last one; what the
// author meant is unknown.
func (m *measure) duplicate(seen map[string]int, key *yaml.Node, path *field.Path) {
	if key.Kind != yaml.ScalarNode {
		return
	}
	if first, ok := seen[key.Value]; ok {
		e := m.document.errorf(key.Line, "remove one", "the key is there twice, first on line %d", first+m.document.Line-1)
		e.Field = path.String()
		m.errs = append(m.errs, e)
		return
	}
	seen[key.Value] = key.Line
}

// checkKey refuses the keys of a mapping that have no place in JSON.
func (d *document) checkKey(key, value *yaml.Node) *Error {
	key, value = aliased(key), aliased(value)
	if key.Kind != yaml.ScalarNode && key.Style&yaml.FlowStyle != 0 {
		if p := d.Template(); p != nil {
			return d.syntaxError(p)
		}
	}
	switch {
	case key.Kind != yaml.ScalarNode:
		return d.errorf(key.Line, "should be text", "YAML syntax: a %s is the key of a mapping", kindWord(key))
	case key.Tag == "!!null":
		return d.errorf(key.Line, "should be text", "YAML syntax: null is the key of a mapping")
	case key.Tag == "!!merge" && !mergeable(value):
		return d.errorf(key.Line, "should be a mapping, or a list of mappings", "YAML syntax: << merges a %s", kindWord(value))
	}
	return nil
}

// notInJSON says what is wrong with a plain value of YAML that JSON does not have: an infinite number, or none, and bytes
// that are no text.
func notInJSON(n *yaml.Node) (problem, want string) {
	if n.Kind != yaml.ScalarNode {
		return "", ""
	}
	var number float64
	var text string
	switch n.ShortTag() {
	case "!!float":
		if n.Decode(&number) == nil && (math.IsInf(number, 0) || math.IsNaN(number)) {
			return fmt.Sprintf("is no finite number (%s)", n.Value), fmt.Sprintf("if a string is meant, should be %q, in quotes", n.Value)
		}
	case "!!binary":
		if n.Decode(&text) == nil && !utf8.ValidString(text) {
			return "is not UTF-8 text", "bytes go below data of a Secret or binaryData of a ConfigMap, in base64"
		}
	}
	return "", ""
}

// aliased is the node that an alias stands for.
func aliased(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

func mergeable(n *yaml.Node) bool {
	if n.Kind == yaml.SequenceNode {
		return !slices.ContainsFunc(n.Content, func(item *yaml.Node) bool { return aliased(item).Kind != yaml.MappingNode })
	}
	return n.Kind == yaml.MappingNode
}

func kindWord(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "mapping"
	case yaml.SequenceNode:
		return "list"
	}
	return "plain value"
}

// childPath is path.Child that takes no path as the top.
func childPath(path *field.Path, name string) *field.Path {
	if path == nil {
		return field.NewPath(name)
	}
	return path.Child(name)
}

func indexPath(path *field.Path, i int) *field.Path {
	if path == nil {
		return field.NewPath("").Index(i)
	}
	return path.Index(i)
}
