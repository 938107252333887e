package lifecycle

import (
	"time"

	v1 "k8s.io/api/core/v1"
)

// shownContainer is a container's entry in the status, with what it was made from.
type shownContainer struct {
	view   containerView
	status v1.ContainerStatus
	known  bool // it was made
}

// containerView is all that a container's status is made from, besides its spec and the
// node's settings: while it stays the same, so does the status. What pointers and slices
// lead to is replaced, never changed.
type containerView struct {
	instanceView
	actuated v1.ResourceRequirements // of a running instance
	devices  []v1.ResourceStatus
}

// instanceView is the part of a containerView that the language compares.
type instanceView struct {
	state          stateView
	restarts       int32
	ready, started bool
	runs           bool
	id             string // empty: there is no instance
	imageName      string
	imageRef       string
	user           *v1.ContainerUser
	reported       *v1.ResourceRequirements // of a running instance
}

// stateView is what state and lastState show.
type stateView struct {
	shows     shownState
	waiting   v1.ContainerStateWaiting
	startedAt time.Time
	end, last *v1.ContainerStateTerminated
}

// shownState is a container's state as the status has it.
type shownState int

const (
	shownWaiting shownState = iota
	shownRunning
	shownEnd
	shownUnaccounted // an end that nobody has seen (B-FIN-7)
)

func viewOf(s *step, c *container) containerView {
	again := runsAgain(s, c)
	v := containerView{devices: shownDevices(s, c)}
	v.instanceView = instanceView{
		state: stateOf(s, c, again), restarts: c.RestartCount, ready: c.ready() || again, started: c.started() && !again,
		runs: c.Position == running, id: c.ID, imageName: c.ImageName, imageRef: c.ImageRef, user: c.User,
	}
	if v.runs {
		v.actuated, v.reported = c.Actuated, c.Reported
	}
	return v
}

func (v *containerView) same(other *containerView) bool {
	return v.instanceView == other.instanceView && sameRequirements(&v.actuated, &other.actuated) && sameMemory(v.devices, other.devices)
}

// ran says whether the status shows that an instance runs or has run.
func (v *containerView) ran() bool {
	return v.state.shows == shownRunning || v.state.shows >= shownEnd && v.id != ""
}

// view brings what the status shows of each container up to date.
func view(s *step) {
	if n := len(s.containers); len(s.derived.containers) != n {
		s.derived.containers = append(s.derived.containers[:0], make([]shownContainer, n)...)
	}
	for i, c := range s.containers {
		shown, v := &s.derived.containers[i], viewOf(s, c)
		if shown.known && shown.view.same(&v) {
			continue
		}
		before := shown.status
		shown.status = containerStatus(c.role, &v)
		switch v.id {
		case "":
		case shown.view.id:
			shown.status.ContainerID = before.ContainerID
		default:
			shown.status.ContainerID = containerID(&s.options, v.id)
		}
		if shown.status.VolumeMounts = before.VolumeMounts; !shown.known {
			shown.status.VolumeMounts = volumeMountStatuses(&s.options, c.spec.VolumeMounts)
		}
		shown.view, shown.known = v, true
	}
}

// viewed is what the status shows of the i-th container.
func (m *Machine) viewed(i int) *containerView { return &m.derived.containers[i].view }
