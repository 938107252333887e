package pods

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/lifecycle"
)

// Health tells how the devices of a pod's containers are: of each container by its name, those
// of device plugins and those of claims. It does not block.
type Health func(pod *v1.Pod) map[string][]v1.ResourceStatus

// devicesChanged is posted to the shell: a pod is told of its devices in turn with everything
// else, so that what was true first is never reported last.
type devicesChanged struct{ uid types.UID }

// DevicesChanged takes that the devices of a pod may have another health, or that it has
// others (A-DEV-12). It may be called from anywhere.
func (b *Inbox) DevicesChanged(uid types.UID) { b.mail.Post(devicesChanged{uid}) }

// tellDevices tells a pod's worker of its devices.
func (s *Shell) tellDevices(uid types.UID) {
	if l := s.life(uid); l != nil && s.Health != nil {
		l.Tell(lifecycle.DevicesChanged{Containers: s.Health(l.now.Load().pod)})
	}
}

// beginsWithDevices tells a pod that begins of its devices, or one that goes on, if it has some or had.
func (s *Shell) beginsWithDevices(l *living) {
	if s.Health == nil {
		return
	}
	had := slices.ContainsFunc(l.status.ContainerStatuses, func(c v1.ContainerStatus) bool { return len(c.AllocatedResourcesStatus) > 0 })
	if has := s.Health(l.now.Load().pod); had || len(has) > 0 {
		l.Tell(lifecycle.DevicesChanged{Containers: has})
	}
}
