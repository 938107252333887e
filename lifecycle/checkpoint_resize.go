package lifecycle

import v1 "k8s.io/api/core/v1"

// ResizeCheckpoint is how far the pod's resources have come; what is allocated
// stands in the spec.
type ResizeCheckpoint struct {
	Desired  []ContainerResources   `json:"desired,omitempty"`
	Before   int64                  `json:"before,omitzero"`
	Pending  *v1.PodCondition       `json:"pending,omitempty"`
	Progress *v1.PodCondition       `json:"progress,omitempty"`
	Held     [][]ContainerResources `json:"held,omitempty"` // if there is more than what is allocated
}

func (r resize) checkpoint() ResizeCheckpoint {
	r = r.clone()
	c := ResizeCheckpoint{Desired: r.desired, Before: r.before, Pending: r.pending, Progress: r.progress}
	if len(r.held) > 1 {
		c.Held = r.held
	}
	return c
}

// restore leaves what is not of this pod: it would only have been room in its cgroup.
func (c ResizeCheckpoint) restore(pod *v1.Pod) resize {
	r := newResize(pod)
	whole := len(r.held[0])
	if len(c.Desired) == whole {
		r.desired = cloneResources(c.Desired)
	}
	r.before = c.Before
	r.pending, r.progress = c.Pending.DeepCopy(), c.Progress.DeepCopy()
	var held [][]ContainerResources
	for _, list := range c.Held {
		if len(list) == whole {
			held = append(held, cloneResources(list))
		}
	}
	if len(held) > 0 {
		r.held = held
	}
	return r
}
