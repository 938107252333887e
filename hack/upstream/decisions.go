package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// decisions are what has been decided of changes, and why, by the changes' keys.
type decisions map[string]string

// readDecisions reads a file that has the reasons by kind, by decision, and by name. Before the first decision there is none.
func readDecisions(file string) (decisions, error) {
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var byKind map[string]map[string]map[string]string
	if err := yaml.UnmarshalStrict(data, &byKind); err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	found := decisions{}
	for kind, byDecision := range byKind {
		for decision, byName := range byDecision {
			for name, reason := range byName {
				key := item{kind: kind, name: name}.key()
				if !slices.Contains([]string{"done", "not needed"}, decision) || reason == "" || found[key] != "" {
					return nil, fmt.Errorf("read %s: %s: want one decision, done or not needed, with a reason", file, key)
				}
				found[key] = decision + ": " + reason
			}
		}
	}
	return found, nil
}

// print prints the items that have no decision, or all, and returns how many have none.
func (d decisions) print(to io.Writer, items []item, all bool) (open int) {
	for _, i := range items {
		text := i.text
		if decision := d[i.key()]; decision == "" {
			open++
		} else if text = decision + "\n" + text; !all {
			continue
		}
		rules := ""
		if len(i.rules) > 0 {
			rules = " (" + strings.Join(i.rules, ", ") + ")"
		}
		fmt.Fprintln(to, i.key()+rules)
		for line := range strings.Lines(text) {
			fmt.Fprint(to, "    "+line)
		}
	}
	return open
}
