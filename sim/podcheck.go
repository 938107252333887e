package sim

import (
	"fmt"

	"github.com/lifepod/lifepod/sim/scenario"
)

// CheckPod refuses what a scenario says that a Pod has no part in: it is done where the pod is
// managed, and a scenario that is obeyed in part would mislead.
func CheckPod(s *scenario.Scenario, report scenario.Report) {
	refuse := func(path, why string) { report(path, "", "a simulated node can't do that: %s", why) }
	if s.Refuse != nil {
		refuse("refuse", "it admits pods by its own room")
	}
	if s.For != nil {
		refuse("for", "it goes on until it is ended")
	}
	if s.Assert != nil {
		refuse("assert", "assertions are for lifepod sim FILE…")
	}
	for i, e := range s.Events {
		path := fmt.Sprintf("events[%d].", i)
		switch {
		case e.Delete != nil:
			refuse(path+"delete", "delete the pod in the API")
		case e.Kill != nil:
			refuse(path+"kill", "delete the pod in the API, with a grace period of 0")
		case e.Reboot != nil:
			refuse(path+"reboot", "it is of a node, not of a pod")
		case e.AgentCrash != nil:
			refuse(path+"agentCrash", "it is of a node, not of a pod")
		case e.SetClock != nil:
			refuse(path+"setClock", "its clock is this machine's")
		case e.ObjectsChanged != nil:
			refuse(path+"objectsChanged", "it does not look at ConfigMaps and Secrets")
		case e.Resize != nil:
			refuse(path+"resize", "resize the pod in the API, as kubectl patch --subresource resize does")
		case e.AddContainer != nil:
			refuse(path+"addContainer", "add it in the API, as kubectl debug does")
		}
	}
}
