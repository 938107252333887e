package sim

import (
	"fmt"

	"sigs.k8s.io/yaml"

	"github.com/lifepod/lifepod/internal/plain"
	"github.com/lifepod/lifepod/journal"
)

// ScenarioYAML is the scenario of a life as a file.
func ScenarioYAML(r *journal.Record) ([]byte, error) {
	s, err := ScenarioOf(r)
	if err != nil {
		return nil, fmt.Errorf("record %s/%s: %w", r.Pod.Namespace, r.Pod.Name, err)
	}
	text, err := yaml.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("record %s/%s: %w", r.Pod.Namespace, r.Pod.Name, err)
	}
	head := fmt.Sprintf("# What happened to %s/%s, UID %s, from %s on.\n", r.Pod.Namespace, r.Pod.Name, r.Pod.UID, r.Entries[0].At.UTC().Format("2006-01-02 15:04:05 UTC"))
	if r.Left > 0 {
		head += fmt.Sprintf("# %d entries of the journal were given up: what they were about is not here.\n", r.Left)
	}
	return append([]byte(plain.Text(head)), text...), nil
}
