package manifest

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// lineOf finds the line of the file on which a field stands. For a field that is missing it is the line
// of the nearest thing above it that is there; 0 if nothing is known.
func (p *parsed) lineOf(path string) int {
	if p.root == nil || len(p.root.Content) == 0 {
		return 0
	}
	node, line := p.root.Content[0], p.root.Content[0].Line
	for _, step := range steps(path) {
		key, value := descend(node, step)
		if value == nil {
			break
		}
		node, line = value, key.Line
	}
	return line + p.Line - 1
}

// textOf is a plain value as it is written in the file, empty if that is unknown.
func (p *parsed) textOf(path string) string {
	if p.root == nil || len(p.root.Content) == 0 {
		return ""
	}
	value := p.root.Content[0]
	for _, step := range steps(path) {
		if _, value = descend(value, step); value == nil {
			return ""
		}
	}
	return aliased(value).Value
}

// steps takes spec.containers[0].image or metadata.labels[a.b/c] apart.
func steps(path string) []string {
	var out []string
	for path != "" {
		path = strings.TrimPrefix(path, ".")
		if inner, ok := strings.CutPrefix(path, "["); ok {
			step, rest, _ := strings.Cut(inner, "]")
			out, path = append(out, step), rest
			continue
		}
		end := strings.IndexAny(path, ".[")
		if end < 0 {
			end = len(path)
		}
		if end > 0 {
			out = append(out, path[:end])
		}
		path = path[end:]
	}
	return out
}

// descend gives the node of one step and the node whose line tells where it begins.
func descend(node *yaml.Node, step string) (key, value *yaml.Node) {
	node = aliased(node)
	switch node.Kind {
	case yaml.SequenceNode:
		if i, err := strconv.Atoi(step); err == nil && i >= 0 && i < len(node.Content) {
			return node.Content[i], node.Content[i]
		}
	case yaml.MappingNode:
		for i := len(node.Content) - 2; i >= 0; i -= 2 {
			if node.Content[i].Value == step {
				return node.Content[i], node.Content[i+1]
			}
		}
		return descendMerged(node, step)
	}
	return nil, nil
}

// descendMerged looks in what a mapping merges in by <<.
func descendMerged(node *yaml.Node, step string) (key, value *yaml.Node) {
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Tag != "!!merge" {
			continue
		}
		merged := []*yaml.Node{node.Content[i+1]}
		if merged[0].Kind == yaml.SequenceNode {
			merged = merged[0].Content
		}
		for _, m := range merged {
			if k, v := descend(m, step); v != nil {
				return k, v
			}
		}
	}
	return nil, nil
}
