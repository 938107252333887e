package file

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/plain"
	"github.com/lifepod/lifepod/manifest"
	"github.com/lifepod/lifepod/sim/scenario"
)

// kind is that of scenarios.
var kind = manifest.Kind{APIVersion: "lifepod.dev/v1alpha1", Name: "Scenario"}

// ReadForAny reads a scenario for pods that are not known: it may name what some of them don't have.
func ReadForAny(s manifest.Source, checks ...scenario.Check) (*scenario.Scenario, error) {
	return Read(s, nil, checks...)
}

// Read reads the scenario of a pod. Errors say the file, the line and what would be right, also those that the checks find.
func Read(s manifest.Source, pod *v1.Pod, checks ...scenario.Check) (*scenario.Scenario, error) {
	into := &scenario.Scenario{}
	err := manifest.ReadKind(s, kind, into, func(report manifest.Report) {
		c := checker{report: report, pod: pod}
		c.scenario(into)
		for _, check := range checks {
			check(into, report)
		}
	})
	if err != nil {
		return nil, fmt.Errorf("scenario: %w", err)
	}
	return into, nil
}

// checker finds what a scenario says wrong, and what of it would have no effect.
type checker struct {
	report manifest.Report
	pod    *v1.Pod  // nil: any
	now    *v1.Pod  // after the changes by events that were checked; nil: there was none
	added  []string // ephemeral containers that the pod will get
}

func (c *checker) scenario(s *scenario.Scenario) {
	c.added = s.AddedNames()
	if s.Refuse != nil {
		c.refuse(s)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Containers)) {
		path := "containers[" + name + "]"
		spec := c.specOf(name)
		if spec == nil {
			c.unknown(path, "container", name, c.containers())
			continue
		}
		if len(s.Containers[name].Runs) == 0 {
			c.report(path, "should have runs, one for each instance", saysNothing)
		}
		for i, run := range s.Containers[name].Runs {
			instance{c, &run, spec}.check(fmt.Sprintf("%s.runs[%d]", path, i))
		}
	}
	c.images(s)
	for i := range s.Calls {
		c.call(fmt.Sprintf("calls[%d]", i), &s.Calls[i])
		c.reached(i, s.Calls)
	}
	for i := range s.Events {
		c.event(fmt.Sprintf("events[%d]", i), &s.Events[i])
	}
}

const saysNothing = "says nothing"

// refuse is of a pod that the node does not take: nothing else happens to it. Where it is of any pod nobody takes it.
func (c *checker) refuse(s *scenario.Scenario) {
	if s.Refuse.Reason == "" {
		c.report("refuse.reason", "should be one such as OutOfcpu", "is empty")
	}
	if c.pod != nil && (s.Containers != nil || s.Images != nil || s.Calls != nil || s.Events != nil) {
		c.report("refuse", "should be without containers, images, calls and events", "nothing happens to a pod that the node refuses")
	}
}

func (c *checker) unknown(path, what, name string, known []string) {
	want := "there are " + strings.Join(known, ", ")
	if near := plain.Nearest(name, known); near != "" {
		want = "did you mean " + near + "?"
	}
	c.report(path, want, "the pod has no %s %s", what, name)
}

func (c *checker) oneOf(path, value string, known ...string) {
	if slices.Contains(known, value) {
		return
	}
	want := "should be one of " + strings.Join(known, ", ")
	if near := plain.Nearest(value, known); near != "" {
		want = "did you mean " + near + "?"
	}
	c.report(path, want, "unknown value %q", value)
}

func (c *checker) notNegative(path string, n int64) {
	if n < 0 {
		c.report(path, "should be 0 or more", "is %d", n)
	}
}

// specOf is a container of the pod, or one that it will get; nil: it has none of that name.
func (c *checker) specOf(name string) *v1.Container {
	if c.pod == nil {
		return &v1.Container{Name: name}
	}
	if spec := specIn(c.pod, name); spec != nil {
		return spec
	}
	if slices.Contains(c.added, name) {
		return &v1.Container{Name: name}
	}
	return nil
}

// specIn is a container of a pod that is not ephemeral; nil: it has none of that name.
func specIn(pod *v1.Pod, name string) *v1.Container {
	for _, list := range [][]v1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range list {
			if list[i].Name == name {
				return &list[i]
			}
		}
	}
	return nil
}

func (c *checker) containers() []string { return append(namesIn(c.pod), c.added...) }

func namesIn(pod *v1.Pod) (names []string) {
	for _, spec := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		names = append(names, spec.Name)
	}
	return names
}
