package sim

import (
	"reflect"
	"slices"
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/sim/scenario"
)

// The calls that a scenario can change, and those of them that are about one container, are those of the machine.
func TestCallsOfScenarios(t *testing.T) {
	var known, ofContainers []string
	for _, e := range []lifecycle.Effect{
		lifecycle.CreateContainer{Container: "main"}, lifecycle.CreateSandbox{}, lifecycle.EnsureCgroup{}, lifecycle.InspectImage{Container: "main"},
		lifecycle.MeasureStorage{}, lifecycle.MountVolumes{}, lifecycle.Observe{}, lifecycle.PrepareClaims{}, lifecycle.Probe{Container: "main"},
		lifecycle.PullImage{Container: "main"}, lifecycle.RefreshVolumes{}, lifecycle.RemoveCgroup{}, lifecycle.RemoveContainer{Container: "main"},
		lifecycle.RemoveSandbox{}, lifecycle.RunHook{Container: "main"}, lifecycle.StartContainer{Container: "main"}, lifecycle.StopContainer{Container: "main"},
		lifecycle.StopSandbox{}, lifecycle.UnmountVolumes{}, lifecycle.UnprepareClaims{},
	} {
		name := reflect.TypeOf(e).Name()
		known = append(known, name)
		if containerOf(e) == "main" {
			ofContainers = append(ofContainers, name)
		}
	}
	assert.True(t, slices.Equal(known, scenario.Calls), "calls are %v, the machine's %v", scenario.Calls, known)
	assert.True(t, slices.Equal(ofContainers, scenario.CallsOfContainers),
		"calls of containers are %v, the machine's %v", scenario.CallsOfContainers, ofContainers)
}
