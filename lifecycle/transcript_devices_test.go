package lifecycle

import (
	"fmt"

	"github.com/cockroachdb/datadriven"
	v1 "k8s.io/api/core/v1"
)

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
