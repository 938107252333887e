package nodefaults

import (
	"fmt"
	"os"
	"path"

	"github.com/lifepod/lifepod/manifest"
)

// kind is that of scenarios of nodes.
var kind = manifest.Kind{APIVersion: "lifepod.dev/v1alpha1", Name: "NodeScenario"}

// ReadFile is Read of a file.
func ReadFile(name string, names []string) (*Scenario, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("read node scenario: %w", err)
	}
	return Read(manifest.Source{Name: name, Data: data}, names)
}

// Read reads the scenario of nodes of these names. Errors say the file, the line and what would be
// right; one is an entry that chooses no node.
func Read(s manifest.Source, names []string) (*Scenario, error) {
	into := &Scenario{}
	err := manifest.ReadKind(s, kind, into, func(report manifest.Report) {
		if len(into.Nodes) == 0 {
			report("nodes", "should have entries, each with the nodes that it chooses", "says nothing")
		}
		for i := range into.Nodes {
			c := checker{report: report, path: fmt.Sprintf("nodes[%d]", i), names: names}
			c.entry(&into.Nodes[i])
		}
	})
	if err != nil {
		return nil, fmt.Errorf("node scenario: %w", err)
	}
	return into, nil
}

// checker finds what an entry says wrong.
type checker struct {
	report manifest.Report
	path   string
	names  []string
}

func (c *checker) entry(e *Entry) {
	c.chooses(e)
	if e.Slow == nil && len(e.Events) == 0 {
		c.report(c.path, "should say slow, or events", "has nothing happen")
	}
	for i := range e.Events {
		c.event(fmt.Sprintf("%s.events[%d]", c.path, i), &e.Events[i])
	}
}

// chooses checks which nodes an entry chooses.
func (c *checker) chooses(e *Entry) {
	switch {
	case (e.Names == "") == (e.Share == nil):
		c.report(c.path, "should say which nodes by one of them: names: sim-1*, or share: 1%", "has names and share, or neither")
	case e.Share != nil:
		if e.Share.of(len(c.names)) == 0 {
			c.report(c.path+".share", "should be enough for one of them", "%s of %d nodes is none", e.Share, len(c.names))
		}
	default:
		c.pattern(e.Names)
	}
}

func (c *checker) pattern(pattern string) {
	if _, err := path.Match(pattern, ""); err != nil {
		c.report(c.path+".names", "should be a pattern of names such as sim-1*", "is %s", pattern)
		return
	}
	for _, name := range c.names {
		if fits, _ := path.Match(pattern, name); fits {
			return
		}
	}
	c.report(c.path+".names", "the nodes are "+span(c.names), "no node has a name such as %s", pattern)
}

// span is names that are numbered, in words.
func span(names []string) string {
	switch len(names) {
	case 0:
		return "none"
	case 1:
		return names[0]
	}
	return names[0] + " to " + names[len(names)-1]
}

func (c *checker) event(path string, e *Event) {
	if e.At.Forever() {
		c.report(path+".at", "should be a time that comes", "never comes")
	}
	happens := 0
	for _, says := range []bool{e.Partition != nil, e.Reboot != nil, e.Loss != nil} {
		if says {
			happens++
		}
	}
	if happens != 1 {
		c.report(path, "should say one thing: partition, reboot or loss", "says %d things that happen", happens)
	}
}
