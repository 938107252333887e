package file

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/lifepod/lifepod/internal/plain"
	"github.com/lifepod/lifepod/manifest"
	"github.com/lifepod/lifepod/sim/scenario"
)

// Annotation names the scenario that a pod lives by.
const Annotation = "lifepod.dev/scenario"

// Named is one scenario.
type Named struct {
	// Name is what a pod's annotation names, or a pattern of namespace and name, such as
	// training/worker-*; empty: it is that of all other pods.
	Name     string
	From     string // the file
	Scenario *scenario.Scenario
}

// Scenarios are those that there are; nil has none.
type Scenarios struct{ list []Named }

// ScenariosOf are scenarios that were made, not read. An error names one that is wrong.
func ScenariosOf(list ...Named) (*Scenarios, error) {
	s := &Scenarios{}
	for _, n := range list {
		if err := s.add(n); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// ReadScenarios reads scenarios, each as FILE, as NAME=FILE, or as NAMESPACE/NAME=FILE.
func ReadScenarios(flags []string, checks ...scenario.Check) (*Scenarios, error) {
	s := &Scenarios{}
	for _, flag := range flags {
		name, from, named := strings.Cut(flag, "=")
		if !named {
			name, from = "", flag
		}
		data, err := os.ReadFile(from)
		if err != nil {
			return nil, fmt.Errorf("read scenario: %w", err)
		}
		says, err := ReadForAny(manifest.Source{Name: from, Data: data}, checks...)
		if err != nil {
			return nil, err
		}
		if err := s.add(Named{Name: name, From: from, Scenario: says}); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *Scenarios) add(n Named) error {
	if slices.ContainsFunc(s.list, func(o Named) bool { return o.Name == n.Name }) {
		return fmt.Errorf("scenario %s: there is another one for %s", n.From, cmp.Or(n.Name, "all pods"))
	}
	if _, err := path.Match(n.Name, ""); err != nil || strings.Count(n.Name, "/") > 1 {
		return fmt.Errorf("scenario %s=%s: want a name, or a pattern of namespace and name such as training/worker-*", n.Name, n.From)
	}
	s.list = append(s.list, n)
	return nil
}

// All are the scenarios, in the order in which they were given.
func (s *Scenarios) All() []Named {
	if s == nil {
		return nil
	}
	return s.list
}

// Image is what is said of an image: by the first scenario that does, since images are those of a node.
func (s *Scenarios) Image(name string) scenario.Image {
	for _, n := range s.All() {
		if says, is := n.Scenario.Image(name); is {
			return says
		}
	}
	return scenario.Image{}
}

var usual = &scenario.Scenario{}

// Of is the scenario of a pod: the one that its annotation names, else the first whose pattern
// fits, else that of all pods, else one that says nothing. It is never nil, also with an error:
// the annotation names none that there is.
func (s *Scenarios) Of(namespace, name string, annotations map[string]string) (*scenario.Scenario, error) {
	if wanted, has := annotations[Annotation]; has {
		return s.named(wanted)
	}
	all := usual
	for _, n := range s.All() {
		if n.Name == "" {
			all = n.Scenario
			continue
		}
		if fits, _ := path.Match(n.Name, namespace+"/"+name); fits && strings.Contains(n.Name, "/") {
			return n.Scenario, nil
		}
	}
	return all, nil
}

func (s *Scenarios) named(wanted string) (*scenario.Scenario, error) {
	var names []string
	for _, n := range s.All() {
		if n.Name == "" || strings.Contains(n.Name, "/") {
			continue
		}
		if n.Name == wanted {
			return n.Scenario, nil
		}
		names = append(names, n.Name)
	}
	err := fmt.Errorf("annotation %s: there is no scenario %q", Annotation, wanted)
	if near := plain.Nearest(wanted, names); near != "" {
		err = errors.New(err.Error() + "; did you mean " + near + "?")
	}
	return usual, err
}
