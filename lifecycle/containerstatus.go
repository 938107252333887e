package lifecycle

import (
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// containerStatuses are the entries of one list of the status: those of the containers
// with these indexes. It is the list before if they are the same.
func containerStatuses(s *step, shown []int, before []v1.ContainerStatus) []v1.ContainerStatus {
	same := len(shown) == len(before)
	for i := 0; same && i < len(shown); i++ {
		same = sameContainer(&before[i], &s.derived.containers[shown[i]].status)
	}
	if same {
		return before
	}
	if len(shown) == 0 {
		return nil
	}
	statuses := make([]v1.ContainerStatus, len(shown))
	for i, of := range shown {
		statuses[i] = s.derived.containers[of].status
	}
	return statuses
}

// containerStatus is one entry of the status lists, but for the container's ID and its
// mounts (A-CST-1..15).
func containerStatus(of role, v *containerView) v1.ContainerStatus {
	started := v.started
	status := v1.ContainerStatus{
		Name:         of.spec.Name,
		Image:        of.spec.Image,
		RestartCount: v.restarts,
		Ready:        v.ready,
		Started:      &started,
		User:         v.user,
	}
	if of.kind == ephemeralContainer {
		status.Started = nil // A-CST-12
	}
	if v.id != "" {
		status.ImageID = v.imageRef
		if v.imageName != "" {
			status.Image = v.imageName
		}
		status.AllocatedResources = of.spec.Resources.Requests
		status.Resources = containerResources(of.spec.Resources, v)
	}
	if v.id != "" && of.spec.Lifecycle != nil {
		status.StopSignal = cloneOf(of.spec.Lifecycle.StopSignal) // B-SIG-1
	}
	for i := range v.devices {
		status.AllocatedResourcesStatus = append(status.AllocatedResourcesStatus, *v.devices[i].DeepCopy())
	}
	status.State, status.LastTerminationState = v.state.states()
	return status
}

// stateOf says what state and lastState show (A-CST-3, A-CST-5, A-CST-6).
func stateOf(s *step, c *container, again bool) stateView {
	v := stateView{last: c.Last}
	switch {
	case again:
		v.shows, v.end, v.last = shownEnd, c.Last, nil
	case c.Position == running:
		v.shows, v.startedAt = shownRunning, c.StartedAt
	case c.Exit == nil:
		v.waiting = waiting(s, c)
	case waitsForRestart(s, c), restartsUnasked(s, c):
		v.waiting, v.last = waiting(s, c), c.Exit
	default:
		v.shows, v.end = shownEnd, c.Exit
	}
	if v.shows != shownEnd && s.kept.Stage >= Terminated && everReached(s, c) {
		v.shows = shownUnaccounted
	}
	return v
}

// states are state and lastState.
func (v *stateView) states() (state, last v1.ContainerState) {
	switch v.shows {
	case shownWaiting:
		why := v.waiting
		state.Waiting = &why
	case shownRunning:
		state.Running = &v1.ContainerStateRunning{StartedAt: seconds(v.startedAt)}
	case shownEnd, shownUnaccounted:
		state = terminatedState(v.terminated())
	}
	return state, terminatedState(v.last)
}

// terminated is the end that the state shows.
func (v *stateView) terminated() *v1.ContainerStateTerminated {
	if v.shows == shownUnaccounted {
		return unaccounted()
	}
	return v.end
}

// runsAgain says whether an init container that had completed runs again in a new sandbox, and the
// previous end is shown until there is one of its own (A-STAT-6).
func runsAgain(s *step, c *container) bool {
	return keepsEnd(s, c) && (c.Exit == nil || restartsUnasked(s, c))
}

// keepsEnd says whether the previous instance of an init container had completed and the API
// would refuse to take that end back.
func keepsEnd(s *step, c *container) bool {
	if c.kind != initContainer || c.Last == nil || !c.LastDone || s.restartAll.Ever || s.restartAllRule {
		return false
	}
	return s.pod.Spec.RestartPolicy != v1.RestartPolicyAlways || c.spec.RestartPolicy != nil
}

// waitsForRestart says whether an exited container shows why it does not run instead of
// its exit (A-CST-6). In a deleted pod it shows the exit, because nothing starts any
// more; so does an init container that shows an end already, of which only another end is reported (A-STAT-6).
func waitsForRestart(s *step, c *container) bool {
	return c.Failure != nil && c.Verdict.Restart && s.stop.Cause != Deleted && !keepsEnd(s, c)
}

// restartsUnasked says whether a container that was killed, or whose start was cut off, runs
// again although its exit alone would not restart it, such as exit code 0 under OnFailure. The
// API refuses to take such an end back (A-API-4), so it is never shown as the state while a next instance may come:
// in a pod that ends, if its create is under way. In a pod with a rule that restarts all
// containers the API does not refuse.
func restartsUnasked(s *step, c *container) bool {
	comes := s.kept.Stage == Syncing || s.kept.Stage < Terminated && (c.Position == creating || c.Position == uncertain)
	return !s.restartAllRule && comes && (c.Kill != nil || c.neverRan()) && c.Verdict.Restart && !decideRestart(s, c, c.Exit).Restart
}

// waiting shows the reason of the last failed start, or the default (A-CST-2).
func waiting(s *step, c *container) v1.ContainerStateWaiting {
	if s.atBarrier(c) {
		return groupWaiting(s)
	}
	if c.Failure != nil {
		return v1.ContainerStateWaiting{Reason: c.Failure.Reason, Message: c.Failure.Message}
	}
	if s.restartAll.Active && c.Exit != nil {
		return v1.ContainerStateWaiting{Reason: reasonRestartingAll, Message: messageRestartingAll}
	}
	if len(s.inits()) > 0 {
		return v1.ContainerStateWaiting{Reason: "PodInitializing"}
	}
	return v1.ContainerStateWaiting{Reason: "ContainerCreating"}
}

// unaccounted is the end of a container that shows no exit in a finished pod (B-FIN-7).
func unaccounted() *v1.ContainerStateTerminated {
	return &v1.ContainerStateTerminated{
		ExitCode: 137,
		Reason:   "ContainerStatusUnknown",
		Message:  "The container could not be located when the pod was terminated",
	}
}

// everReached says whether a finished pod must show an exit of the container: of every
// regular one if the pod was ever initialized, of init containers up to the last that
// ever ran, and always of the first (B-FIN-7).
func everReached(s *step, c *container) bool {
	switch c.kind {
	case ephemeralContainer:
		return false
	case regularContainer:
		return everInitialized(s)
	}
	lastRan := 0
	for i, init := range s.inits() {
		if init.Exit != nil || init.Last != nil {
			lastRan = i
		}
	}
	return slices.Index(s.inits(), c) <= lastRan
}

// everInitialized says whether the pod is or was initialized (A-COND-4), as far as its
// container statuses depend on it.
func everInitialized(s *step) bool {
	if isTrue(s.kept.Reported.Conditions, v1.PodInitialized) || slices.ContainsFunc(s.regulars(), func(c *container) bool { return c.Exit != nil && c.ID != "" }) {
		return true
	}
	return !slices.ContainsFunc(s.inits(), func(c *container) bool { return !c.through() })
}

func terminatedState(t *v1.ContainerStateTerminated) v1.ContainerState {
	if t == nil {
		return v1.ContainerState{}
	}
	c := t.DeepCopy()
	c.StartedAt, c.FinishedAt = atSecond(c.StartedAt), atSecond(c.FinishedAt)
	return v1.ContainerState{Terminated: c}
}

func atSecond(t metav1.Time) metav1.Time {
	if t.IsZero() {
		return t
	}
	return seconds(t)
}

func containerID(options *Options, id string) string { return options.RuntimeName + "://" + id }

// volumeMountStatuses lists the mounts, and for read-only ones whether mounts below them
// are read-only too (A-CST-16, A-VOL-2).
func volumeMountStatuses(options *Options, mounts []v1.VolumeMount) []v1.VolumeMountStatus {
	var statuses []v1.VolumeMountStatus
	for _, m := range mounts {
		status := v1.VolumeMountStatus{Name: m.Name, MountPath: m.MountPath, ReadOnly: m.ReadOnly}
		if m.ReadOnly {
			status.RecursiveReadOnly = recursiveReadOnly(options, m)
		}
		statuses = append(statuses, status)
	}
	return statuses
}

// recursiveReadOnly is the mode that a read-only mount gets. A mount that can't have the
// mode it asks for is never made (CreateContainerConfigError).
func recursiveReadOnly(options *Options, m v1.VolumeMount) *v1.RecursiveReadOnlyMode {
	asked := m.RecursiveReadOnly != nil && *m.RecursiveReadOnly != v1.RecursiveReadOnlyDisabled
	propagated := m.MountPropagation != nil && *m.MountPropagation != v1.MountPropagationNone
	if asked && options.RecursiveReadOnly && !propagated {
		return new(v1.RecursiveReadOnlyEnabled)
	}
	return new(v1.RecursiveReadOnlyDisabled)
}

// idWithoutScheme undoes containerID.
func idWithoutScheme(id string) string {
	if _, after, found := strings.Cut(id, "://"); found {
		return after
	}
	return id
}

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
