package importing

import (
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/lifepod/lifepod/internal/plain"
)

// YAML is the scenario as a file, which says on top where it comes from, and what it does not have. of are the files and
// the pod, for the first line.
func (r *Result) YAML(of string) ([]byte, error) {
	text, err := yaml.Marshal(r.Scenario)
	if err != nil {
		return nil, fmt.Errorf("write scenario: %w", err)
	}
	var head strings.Builder
	comment := func(indent, text string) { head.WriteString("# " + indent + plain.Line(text) + "\n") }
	comment("", "Imported from "+of+".")
	for _, part := range r.Summary {
		comment("", part.What)
		for _, line := range part.Stages {
			comment("  ", line)
		}
	}
	if len(r.Notes) > 0 {
		comment("", "Not in this scenario, or otherwise:")
	}
	for _, n := range r.Notes {
		comment("  ", n.String())
	}
	return append([]byte(head.String()), text...), nil
}
