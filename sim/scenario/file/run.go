package file

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/sim/scenario"
)

// instance is what a scenario says of one run of a container.
type instance struct {
	*checker
	says *scenario.Run
	spec *v1.Container
}

func (c instance) check(path string) {
	if alone := (scenario.Run{Start: c.says.Start, StartError: c.says.StartError}); c.says.StartError != "" && !reflect.DeepEqual(*c.says, alone) {
		c.report(path+".startError", "should be alone, or with start", "a process that can't be started does nothing else")
	}
	c.end(path)
	c.probes(path)
	c.hooks(path + ".hooks")
	c.stop(path + ".stop")
	c.usage(path + ".usage")
	for i, o := range c.says.Output {
		path := fmt.Sprintf("%s.output[%d]", path, i)
		c.during(path+".at", o.At)
		if o.Stream != "" {
			c.oneOf(path+".stream", o.Stream, "stdout", "stderr")
		}
	}
}

// end is how the process ends by itself.
func (c instance) end(path string) {
	ends := 0
	for _, says := range []bool{c.says.Exit != nil, c.says.Signal != "", c.says.OOM} {
		if says {
			ends++
		}
	}
	if ends > 1 {
		c.report(path, "should be one of them", "exit, signal and oom exclude each other")
	}
	if c.says.Run.Forever() && (ends > 0 || c.says.Message != "") {
		c.report(path+".run", "should be how long it runs, or without exit, signal, oom and message", "a process that runs for ever does not end by itself")
	}
	if c.says.Signal != "" {
		c.signal(path+".signal", c.says.Signal)
	}
	if c.says.Exit != nil {
		c.exitCode(path+".exit", *c.says.Exit)
	}
}

func (c instance) signal(path, name string) {
	if whole := "SIG" + strings.ToUpper(name); scenario.Signals[whole] != 0 {
		c.report(path, "did you mean "+whole+"?", "unknown value %q", name)
		return
	}
	c.oneOf(path, name, slices.Sorted(maps.Keys(scenario.Signals))...)
}

func (c instance) exitCode(path string, code int32) {
	if code < 0 || code > 255 {
		c.report(path, "should be 0 to 255", "is %d", code)
	}
}

// during is a time since the start of an instance, at which it is still to run.
func (c instance) during(path string, at *scenario.Span) {
	usual := scenario.Forever
	if c.says.Exit != nil || c.says.Signal != "" || c.says.OOM {
		usual = scenario.UsualRun
	}
	least, _ := at.Bounds(0)
	_, runs := c.says.Run.Bounds(usual)
	switch {
	case at.Forever():
		c.report(path, "should be a time that comes", "never comes")
	case least > runs:
		c.report(path, fmt.Sprintf("should be at most %v", runs), "the process has ended by then")
	}
}

func (c instance) probes(path string) {
	if c.says.Ready != nil && c.spec.ReadinessProbe == nil && c.pod != nil {
		c.report(path+".ready", "without one a container is ready as soon as it runs", "container %s has no readinessProbe", c.spec.Name)
	}
	if c.says.Ready != nil && c.says.Probes != nil && c.says.Probes.Readiness != nil {
		c.report(path+".ready", "should be one of them", "ready and probes.readiness exclude each other")
	}
	p := c.says.Probes
	if p == nil {
		return
	}
	if len(p.Startup)+len(p.Liveness)+len(p.Readiness) == 0 {
		c.report(path+".probes", "should have answers of startup, liveness or readiness", saysNothing)
	}
	c.answers(path+".probes.startup", p.Startup, c.spec.StartupProbe)
	c.answers(path+".probes.liveness", p.Liveness, c.spec.LivenessProbe)
	c.answers(path+".probes.readiness", p.Readiness, c.spec.ReadinessProbe)
}

func (c instance) answers(path string, list []scenario.Answer, probe *v1.Probe) {
	if list != nil && probe == nil && c.pod != nil {
		c.report(path, "", "the container has no such probe")
	}
	before := time.Duration(-1) // from when on an answer is given that the next one follows
	for i, a := range list {
		path := fmt.Sprintf("%s[%d]", path, i)
		c.oneOf(path+".answer", a.Answer, "success", "failure", "error")
		c.during(path+".from", a.From)
		least, most := a.From.Bounds(0)
		if most <= before {
			c.report(path+".from", "should be in the order of time", "is no later than the answer before it, which is then never given")
		}
		before = max(before, least)
	}
}

func (c instance) hooks(path string) {
	says, has := c.says.Hooks, c.spec.Lifecycle
	if says == nil {
		return
	}
	if *says == (scenario.Hooks{}) {
		c.report(path, "should say postStart, preStop or both", saysNothing)
	}
	if has == nil {
		has = &v1.Lifecycle{}
	}
	c.hook(path+".postStart", says.PostStart, has.PostStart)
	c.hook(path+".preStop", says.PreStop, has.PreStop)
}

func (c instance) hook(path string, says *scenario.Hook, has *v1.LifecycleHandler) {
	switch {
	case says == nil:
	case has == nil && c.pod != nil:
		c.report(path, "", "the container has no such hook")
	case *says == (scenario.Hook{}):
		c.report(path, "should say takes, fail or both", saysNothing)
	case says.Fail != "" && says.Takes.Forever():
		c.report(path, "should be one of them", "a hook that takes for ever does not fail by itself")
	}
}

func (c instance) stop(path string) {
	s := c.says.Stop
	switch {
	case s == nil:
		return
	case *s == (scenario.Stop{}):
		c.report(path, "should say after, exit or ignore", saysNothing)
	case s.Ignore && s.After != nil || (s.Ignore || s.After.Forever()) && s.Exit != nil:
		c.report(path, "should be one of them", "a process that runs on at the stop signal does not end by it")
	}
	if s.Exit != nil {
		c.exitCode(path+".exit", *s.Exit)
	}
}

func (c instance) usage(path string) {
	if c.says.Usage != nil && c.pod != nil {
		c.report(path, "it is for pods of lifepod sim nodes and lifepod up --simulated-nodes", "nobody asks what a pod of this simulation uses")
	}
	for i, u := range c.says.Usage {
		path := fmt.Sprintf("%s[%d]", path, i)
		c.during(path+".from", u.From)
		if u.CPU == nil && u.Memory == nil {
			c.report(path, "should say cpu, memory or both", saysNothing)
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
