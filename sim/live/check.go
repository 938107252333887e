package live

import (
	"fmt"
	"maps"
	"slices"

	"github.com/lifepod/lifepod/cri/crifake"
	"github.com/lifepod/lifepod/sim/scenario"
)

// CheckForEndpoint refuses what a scenario says that a runtime has no part in: that is done to the pod
// where it is managed, and a scenario that is obeyed in part would mislead.
func CheckForEndpoint(s *scenario.Scenario, report scenario.Report) {
	refuse := func(path, format string, args ...any) {
		report(path, "", "a CRI runtime can't do that: "+format, args...)
	}
	if s.Refuse != nil {
		refuse("refuse", "pods are admitted by the kubelet")
	}
	if s.For != nil {
		refuse("for", "it serves until it is ended")
	}
	if s.Assert != nil {
		refuse("assert", "assertions are for lifepod sim FILE…")
	}
	known := slices.Collect(maps.Values(crifake.CallsOfScenarios))
	for i, c := range s.Calls {
		if !slices.Contains(known, c.Call) {
			refuse(fmt.Sprintf("calls[%d]", i), "%s is no call of a runtime's that a scenario may change", c.Call)
		}
	}
	for i, e := range s.Events {
		if e.SandboxExit == nil {
			refuse(fmt.Sprintf("events[%d]", i), "of events there is sandboxExit; what befalls pods and nodes is done by the API and to the kubelet")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Containers)) {
		for i := range s.Containers[name].Runs {
			checkRun(fmt.Sprintf("containers[%s].runs[%d]", name, i), &s.Containers[name].Runs[i], refuse)
		}
	}
}

func checkRun(path string, r *scenario.Run, refuse func(path, format string, args ...any)) {
	if r.Hooks != nil {
		refuse(path+".hooks", "it is not told which commands are hooks")
	}
	if r.Usage != nil {
		refuse(path+".usage", "it does not tell what containers use")
	}
	kinds := 0
	if p := r.Probes; p != nil {
		for _, list := range [][]scenario.Answer{p.Startup, p.Liveness, p.Readiness} {
			if list != nil {
				kinds++
			}
		}
	}
	if r.Ready != nil {
		kinds++
	}
	if kinds > 1 {
		refuse(path, "it is not told of which probe a command is: there should be one of ready, probes.startup, probes.liveness and probes.readiness")
	}
}
