package traces

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/lifepod/lifepod/sim/importing/stages"
)

// longestPrefix is as much of a name as the API server leaves before what it makes up for generateName.
const longestPrefix = 58

// File is one to write, by its path below the folder of the import.
type File struct {
	Name string
	Data []byte
}

// Scenario says which pods live by which file.
type Scenario struct {
	Pods string // their namespace and name, with * for what controllers make up
	File string
}

// Result is what comes of a trace.
type Result struct {
	Files     []File
	Scenarios []Scenario // those of longer names first, because the first one that fits a pod counts
	Notes     []stages.Note
}

// Import imports a trace of a name. An error is about a file that is none.
func Import(name string, data []byte) (*Result, error) {
	t, err := parse(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	r, notes := &Result{}, &stages.Notes{}
	for _, key := range t.unknown {
		notes.Say("%s: unknown to version %d of traces: it is not imported", key, version)
	}
	notes.Say("config: not imported, but for where pod templates are")
	notes.Say("index: not imported, it has the objects' hashes only")
	if len(t.owners) == 0 {
		notes.Say("pod_lifecycles: no pods were recorded, and so there are no scenarios")
	} else {
		notes.Say("pod_lifecycles: containers end with 0, the trace does not have exit codes")
	}
	for _, o := range t.inOrder() {
		if err := r.workload(name, t, o, notes); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	objects, err := t.objects(notes)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	r.Files, r.Notes = append(r.Files, objects...), append(r.Notes, notes.All()...)
	for i := range r.Notes {
		r.Notes[i].File = name
	}
	return r, nil
}

// inOrder are the owners: Pods first, then those of longer names.
func (t *trace) inOrder() []owner {
	pod := func(o owner) int {
		if o.gvk == "v1.Pod" {
			return 0
		}
		return 1
	}
	return slices.SortedFunc(maps.Keys(t.owners), func(a, b owner) int {
		return cmp.Or(pod(a)-pod(b), len(b.name)-len(a.name), cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.name, b.name), cmp.Compare(a.gvk, b.gvk))
	})
}

func (r *Result) workload(name string, t *trace, o owner, notes *stages.Notes) error {
	result, err := t.workload(o)
	if err != nil {
		return err
	}
	r.Notes = append(r.Notes, result.Notes...)
	if result.Scenario == nil {
		return nil
	}
	prefix := o.name + "-"
	prefix = prefix[:min(len(prefix), longestPrefix)]
	s := Scenario{Pods: o.namespace + "/" + prefix + "*", File: o.namespace + "-" + o.name + ".yaml"}
	if o.gvk == "v1.Pod" {
		s.Pods = o.namespace + "/" + o.name
	}
	if slices.ContainsFunc(r.Scenarios, func(other Scenario) bool { return other.Pods == s.Pods }) {
		notes.Say("%v: its pods can't be told by their names from those of another workload of this name, whose scenario they have", o)
		return nil
	}
	for i := 2; slices.ContainsFunc(r.Scenarios, func(other Scenario) bool { return other.File == s.File }); i++ {
		s.File = fmt.Sprintf("%s-%s-%d.yaml", o.namespace, o.name, i)
	}
	text, err := result.YAML(name + " for pods " + s.Pods + ", of " + o.String())
	if err != nil {
		return err
	}
	r.Files, r.Scenarios = append(r.Files, File{s.File, text}), append(r.Scenarios, s)
	return nil
}
