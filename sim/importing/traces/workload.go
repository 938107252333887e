package traces

import (
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/sim/importing"
	"github.com/lifepod/lifepod/sim/importing/stages"
	"github.com/lifepod/lifepod/sim/scenario"
)

// longest is the longest life that a scenario can say, in seconds.
const longest = int64(scenario.Forever / time.Second)

// workload is the scenario of an owner's pods; none, if their templates are not known.
func (t *trace) workload(o owner) (*importing.Result, error) {
	l := t.owners[o]
	slices.Sort(l.ended)
	notes := &stages.Notes{}
	say := func(format string, args ...any) { notes.Say("%v: %s", o, fmt.Sprintf(format, args...)) }
	r := &importing.Result{Summary: []importing.Summary{{What: "Pods in the trace:", Stages: []string{l.String()}}}}
	specs, err := t.templatesOf(o)
	if err != nil {
		return nil, err
	}
	if len(specs) == 0 {
		say("the trace does not have its pod template, and so not the names of its containers: there is no scenario")
		r.Notes = notes.All()
		return r, nil
	}
	if len(specs) > 1 {
		say("it has %d pod templates, and the trace does not say which pod is of which: all get the same times", len(specs))
	} else if l.templates > 1 {
		say("its pods are of %d pod templates in turn: all get the same times, and the names of the last one's containers", l.templates)
	}
	r.Scenario = &scenario.Scenario{APIVersion: "lifepod.dev/v1alpha1", Kind: "Scenario", Containers: map[string]scenario.Container{}}
	ends := false
	for i := range specs {
		always := specs[i].RestartPolicy == "" || specs[i].RestartPolicy == v1.RestartPolicyAlways
		ends = ends || !always
		l.file(&specs[i], !always, r.Scenario)
	}
	l.tell(ends, say)
	r.Notes = notes.All()
	return r, nil
}

// tell notes what is otherwise than recorded.
func (l *lives) tell(ends bool, say func(format string, args ...any)) {
	n := len(l.ended)
	if n == 0 {
		return
	}
	if !ends {
		say("%d of %d pods ended: with restartPolicy Always they do when they are deleted, here as well", n, n+l.running)
		return
	}
	if l.running > 0 {
		say("%d of %d pods had not ended with the trace: they take as long as the others", l.running, n+l.running)
	}
	if least, most := l.ended[0], l.ended[n-1]; least != most {
		say("which pod took how long is not kept: each draws from uniform(%v,%v)", seconds(least), seconds(most))
	}
}

// file has the containers of a template run as long as the pods took: the first one of each pod draws, and no other
// takes longer than it can.
func (l *lives) file(spec *v1.PodSpec, ends bool, into *scenario.Scenario) {
	forever, _ := scenario.ParseSpan("forever") // it is one
	first, others := &forever, &forever
	if n := len(l.ended); ends && n > 0 {
		least, most := l.ended[0], l.ended[n-1]
		first, others = scenario.Fixed(seconds(least)), scenario.Fixed(seconds(least))
		if least != most {
			drawn, _ := scenario.ParseSpan(fmt.Sprintf("uniform(%v,%v)", seconds(least), seconds(most))) // it is one
			first = &drawn
		}
	}
	run := func(name string, takes *scenario.Span) {
		into.Containers[name] = scenario.Container{Runs: []scenario.Run{{Run: takes}}}
	}
	for i := range spec.InitContainers {
		if c := &spec.InitContainers[i]; c.RestartPolicy == nil || *c.RestartPolicy != v1.ContainerRestartPolicyAlways {
			run(c.Name, scenario.Fixed(0)) // what was recorded begins with the first of them
		}
	}
	for i := range spec.Containers {
		takes := others
		if i == 0 {
			takes = first
		}
		run(spec.Containers[i].Name, takes)
	}
}

func seconds(n int64) time.Duration { return time.Duration(n) * time.Second }

// String says how long the pods took, which are in order.
func (l *lives) String() string {
	n := len(l.ended)
	text := fmt.Sprintf("%d ended", n)
	if n > 0 {
		text += fmt.Sprintf(" after %v", seconds(l.ended[0]))
		if least, most := l.ended[0], l.ended[n-1]; least != most {
			text += fmt.Sprintf(" to %v, half of them after at most %v", seconds(most), seconds(l.ended[(n-1)/2]))
		}
	}
	if l.running > 0 {
		text += fmt.Sprintf(", %d had not ended with the trace", l.running)
	}
	return text
}
