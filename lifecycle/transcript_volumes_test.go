package lifecycle

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/assert"
)

// storage answers the MeasureStorage under way; names are volumes and containers:
//
//	storage name=bytes … [took=D]
func (tr *transcript) storage(t *testing.T, d *datadriven.TestData) {
	asked := tr.takePending(t, "MeasureStorage").(MeasureStorage)
	answer := StorageMeasured{Result: Result{ID: asked.ID}}
	for _, a := range d.CmdArgs {
		usage := StorageUsage{Name: a.Key}
		switch {
		case a.Key == "took":
			took, err := time.ParseDuration(a.Vals[0])
			assert.Require(t, err == nil, "%s: %v", d.Pos, err)
			answer.Took = took
			continue
		case slices.Contains(asked.Volumes, a.Key):
			usage.Bytes = intArg(t, d, a.Key)
			answer.Volumes = append(answer.Volumes, usage)
		default:
			usage.Bytes = intArg(t, d, a.Key)
			answer.Containers = append(answer.Containers, usage)
		}
	}
	tr.feed(answer)
}

// volumesFound is for the MountVolumes under way.
func (tr *transcript) volumesFound(t *testing.T, d *datadriven.TestData) {
	for _, e := range tr.pending {
		if e, mounts := e.(MountVolumes); mounts {
			tr.feed(VolumesFound(e))
			return
		}
	}
	t.Fatalf("%s: no pending MountVolumes", d.Pos)
}

// changesObjects edits a ConfigMap or the pod's labels.
func (w *walk) changesObjects() {
	w.feed(ObjectsChanged{Labels: map[string]string{"edited": "yes"}})
}

// devices tells which health the one device of each container has: devices main=Healthy.
// A container that is not named has none.
func (tr *transcript) devices(d *datadriven.TestData) {
	all := map[string][]v1.ResourceStatus{}
	for _, arg := range d.CmdArgs {
		all[arg.Key] = devicesOf(arg.Key, v1.ResourceHealthStatus(arg.Vals[0]))[arg.Key]
	}
	tr.feed(DevicesChanged{Containers: all})
}

// devicesOf is one device of a container.
func devicesOf(container string, health v1.ResourceHealthStatus) map[string][]v1.ResourceStatus {
	return map[string][]v1.ResourceStatus{container: {{
		Name: "example.com/gpu", Resources: []v1.ResourceHealth{{ResourceID: "g0", Health: health}},
	}}}
}

func devicesText(list []v1.ResourceStatus) (text string) {
	for _, s := range list {
		for _, r := range s.Resources {
			text += fmt.Sprintf(" %s/%s=%s", s.Name, r.ResourceID, r.Health)
		}
	}
	return text
}
