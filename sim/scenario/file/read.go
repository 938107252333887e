// Package file reads scenarios, as strictly as manifests and with errors as good.
package file

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/nearest"
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

// checker finds what a scenario says wrong.
type checker struct {
	report manifest.Report
	pod    *v1.Pod  // nil: any
	now    *v1.Pod  // after the resizes that were checked; nil: there was none
	added  []string // ephemeral containers that the pod will get
}

func (c *checker) scenario(s *scenario.Scenario) {
	c.added = s.AddedNames()
	for _, name := range slices.Sorted(maps.Keys(s.Containers)) {
		path := "containers[" + name + "]"
		spec := c.specOf(name)
		if spec == nil {
			c.unknown(path, "container", name, c.containers())
			continue
		}
		if len(s.Containers[name].Runs) == 0 {
			c.report(path, "should have runs, one for each instance", "says nothing")
		}
		for i, run := range s.Containers[name].Runs {
			c.run(fmt.Sprintf("%s.runs[%d]", path, i), &run, spec)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Images)) {
		if c.pod != nil && !slices.Contains(imagesOf(c.pod), name) {
			c.unknown("images["+name+"]", "image", name, imagesOf(c.pod))
		}
		if s.Images[name].Failures < 0 {
			c.report("images["+name+"].failures", "should be 0 or more", "is %d", s.Images[name].Failures)
		}
	}
	for i := range s.Calls {
		c.call(fmt.Sprintf("calls[%d]", i), &s.Calls[i])
	}
	for i := range s.Events {
		c.event(fmt.Sprintf("events[%d]", i), &s.Events[i])
	}
}

func (c *checker) unknown(path, what, name string, known []string) {
	want := "there are " + strings.Join(known, ", ")
	if near := nearest.Name(name, known); near != "" {
		want = "did you mean " + near + "?"
	}
	c.report(path, want, "the pod has no %s %s", what, name)
}

func (c *checker) oneOf(path, value string, known ...string) {
	if slices.Contains(known, value) {
		return
	}
	want := "should be one of " + strings.Join(known, ", ")
	if near := nearest.Name(value, known); near != "" {
		want = "did you mean " + near + "?"
	}
	c.report(path, want, "unknown value %q", value)
}

func (c *checker) run(path string, r *scenario.Run, spec *v1.Container) {
	ends := 0
	for _, says := range []bool{r.Exit != nil, r.Signal != "", r.OOM, r.StartError != ""} {
		if says {
			ends++
		}
	}
	if ends > 1 {
		c.report(path, "should be one of them", "exit, signal, oom and startError exclude each other")
	}
	if r.Signal != "" {
		c.oneOf(path+".signal", r.Signal, slices.Sorted(maps.Keys(scenario.Signals))...)
	}
	if r.Exit != nil {
		c.exitCode(path+".exit", *r.Exit)
	}
	c.probes(path, r, spec)
	if c.pod != nil {
		c.hooks(path+".hooks", r.Hooks, spec.Lifecycle)
	}
	if r.Stop != nil && r.Stop.Exit != nil {
		c.exitCode(path+".stop.exit", *r.Stop.Exit)
	}
	c.usage(path+".usage", r.Usage)
	for i, o := range r.Output {
		if o.Stream != "" {
			c.oneOf(fmt.Sprintf("%s.output[%d].stream", path, i), o.Stream, "stdout", "stderr")
		}
	}
}

func (c *checker) usage(path string, list []scenario.Usage) {
	if list != nil && c.pod != nil {
		c.report(path, "it is for pods of lifepod sim nodes and lifepod up --simulated-nodes", "nobody asks what a pod of this simulation uses")
	}
	for i, u := range list {
		path := fmt.Sprintf("%s[%d]", path, i)
		if u.CPU == nil && u.Memory == nil {
			c.report(path, "should say cpu, memory or both", "says nothing")
		}
		if u.CPU != nil && (u.CPU.Sign() < 0 || u.CPU.CmpInt64(mostCPUs) > 0) {
			c.report(path+".cpu", fmt.Sprintf("should be 0 to %d", mostCPUs), "is %s", u.CPU)
		}
		if u.Memory != nil && (u.Memory.Sign() <= 0 || u.Memory.CmpInt64(mostBytes) > 0) {
			c.report(path+".memory", "should be more than 0, and at most 1Pi", "is %s", u.Memory)
		}
	}
}

// So much a container can use at most.
const mostCPUs, mostBytes = 10_000, 1 << 50

func (c *checker) probes(path string, r *scenario.Run, spec *v1.Container) {
	if r.Ready != nil && spec.ReadinessProbe == nil && c.pod != nil {
		c.report(path+".ready", "without one a container is ready as soon as it runs", "container %s has no readinessProbe", spec.Name)
	}
	if r.Ready != nil && r.Probes != nil && r.Probes.Readiness != nil {
		c.report(path+".ready", "should be one of them", "ready and probes.readiness exclude each other")
	}
	if p := r.Probes; p != nil {
		c.answers(path+".probes.startup", p.Startup, spec.StartupProbe)
		c.answers(path+".probes.liveness", p.Liveness, spec.LivenessProbe)
		c.answers(path+".probes.readiness", p.Readiness, spec.ReadinessProbe)
	}
}

func (c *checker) hooks(path string, says *scenario.Hooks, has *v1.Lifecycle) {
	if says == nil {
		return
	}
	if says.PostStart != nil && (has == nil || has.PostStart == nil) {
		c.report(path+".postStart", "", "the container has no such hook")
	}
	if says.PreStop != nil && (has == nil || has.PreStop == nil) {
		c.report(path+".preStop", "", "the container has no such hook")
	}
}

func (c *checker) exitCode(path string, code int32) {
	if code < 0 || code > 255 {
		c.report(path, "should be 0 to 255", "is %d", code)
	}
}

func (c *checker) answers(path string, list []scenario.Answer, probe *v1.Probe) {
	if list != nil && probe == nil && c.pod != nil {
		c.report(path, "", "the container has no such probe")
	}
	for i, a := range list {
		c.oneOf(fmt.Sprintf("%s[%d].answer", path, i), a.Answer, "success", "failure", "error")
	}
}

func (c *checker) call(path string, call *scenario.Call) {
	c.oneOf(path+".call", call.Call, scenario.Calls...)
	if call.Container != "" && c.specOf(call.Container) == nil {
		c.unknown(path+".container", "container", call.Container, c.containers())
	}
	if call.Hang && (call.Fail != "" || call.Takes != nil) {
		c.report(path+".hang", "should be alone", "a call that hangs takes as long as its deadline")
	}
	if call.Fail == "" && call.Takes == nil && !call.Hang {
		c.report(path, "should say takes, fail or hang", "changes nothing")
	}
	if call.Times < 0 {
		c.report(path+".times", "should be 0 or more", "is %d", call.Times)
	}
}

func (c *checker) event(path string, e *scenario.Event) {
	if e.At == nil {
		c.report(path, "should say at", "has no time")
	}
	value, happens := reflect.ValueOf(e).Elem(), 0
	for i := range value.NumField() {
		if value.Type().Field(i).Name != "At" && !value.Field(i).IsNil() {
			happens++
		}
	}
	if happens != 1 {
		c.report(path, "should say one thing, such as delete: {}", "says %d things that happen", happens)
	}
	if e.Resize != nil {
		c.resize(path+".resize", e.Resize)
	}
	if e.Restart != nil && e.Restart.Container != "" && c.specOf(e.Restart.Container) == nil {
		c.unknown(path+".restart.container", "container", e.Restart.Container, c.containers())
	}
}

// specOf is a container of the pod, or one that it will get; nil: it has none of that name.
func (c *checker) specOf(name string) *v1.Container {
	if c.pod == nil {
		return &v1.Container{Name: name}
	}
	for _, list := range [][]v1.Container{c.pod.Spec.InitContainers, c.pod.Spec.Containers} {
		for i := range list {
			if list[i].Name == name {
				return &list[i]
			}
		}
	}
	if slices.Contains(c.added, name) {
		return &v1.Container{Name: name}
	}
	return nil
}

func (c *checker) containers() (names []string) {
	for _, spec := range slices.Concat(c.pod.Spec.InitContainers, c.pod.Spec.Containers) {
		names = append(names, spec.Name)
	}
	return append(names, c.added...)
}

func imagesOf(pod *v1.Pod) (names []string) {
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		names = append(names, c.Image)
	}
	for _, v := range pod.Spec.Volumes {
		if v.Image != nil {
			names = append(names, v.Image.Reference)
		}
	}
	return names
}
