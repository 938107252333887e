package file

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/sim/scenario"
)

func (c *checker) call(path string, call *scenario.Call) {
	c.oneOf(path+".call", call.Call, scenario.Calls...)
	if call.Container != "" && c.specOf(call.Container) == nil {
		c.unknown(path+".container", "container", call.Container, c.containers())
	} else if c.pod != nil {
		c.made(path+".call", call)
	}
	if call.Container != "" && !slices.Contains(scenario.CallsOfContainers, call.Call) {
		c.report(path+".container", "calls of containers are "+strings.Join(scenario.CallsOfContainers, ", "), "%s is a call of the pod", call.Call)
	}
	if call.Hang && (call.Fail != "" || call.Takes != nil) {
		c.report(path+".hang", "should be alone", "a call that hangs takes as long as its deadline")
	}
	if call.Fail == "" && call.Takes == nil && !call.Hang {
		c.report(path, "should say takes, fail or hang", "changes nothing")
	}
	c.notNegative(path+".times", int64(call.Times))
	from, _ := call.From.Bounds(0)
	_, until := call.Until.Bounds(scenario.Forever)
	switch {
	case call.From.Forever():
		c.report(path+".from", "should be a time that comes", "never comes")
	case until <= from:
		c.report(path+".until", fmt.Sprintf("should be later than %v", from), "no call is in between")
	}
}

// made refuses a change of calls that nothing of the pod asks for.
func (c *checker) made(path string, call *scenario.Call) {
	specs := slices.Concat(c.pod.Spec.InitContainers, c.pod.Spec.Containers)
	if call.Container != "" {
		specs = []v1.Container{*c.specOf(call.Container)}
	}
	switch {
	case call.Call == "Probe" && !slices.ContainsFunc(specs, func(s v1.Container) bool {
		return s.StartupProbe != nil || s.LivenessProbe != nil || s.ReadinessProbe != nil
	}):
		c.report(path, "", "there is no probe")
	case call.Call == "RunHook" && !slices.ContainsFunc(specs, func(s v1.Container) bool {
		return s.Lifecycle != nil && (s.Lifecycle.PostStart != nil || s.Lifecycle.PreStop != nil)
	}):
		c.report(path, "", "there is no hook")
	case (call.Call == "PrepareClaims" || call.Call == "UnprepareClaims") && len(c.pod.Spec.ResourceClaims) == 0:
		c.report(path, "", "the pod has no resource claims")
	}
}

// reached refuses a change of calls all of which another change before it counts for.
func (c *checker) reached(i int, list []scenario.Call) {
	later := &list[i]
	for j := range i {
		first := &list[j]
		if first.Call == later.Call && (first.Container == "" || first.Container == later.Container) && first.From == nil && first.Until == nil && first.Times == 0 {
			c.report(fmt.Sprintf("calls[%d]", i), "should be before it", "never counts: calls[%d] fits each of these calls, and the first that fits counts", j)
			return
		}
	}
}
