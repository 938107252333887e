package lifecycle

import (
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func containerStatuses(s *step, list []*container) []v1.ContainerStatus {
	var statuses []v1.ContainerStatus
	for _, c := range list {
		statuses = append(statuses, containerStatus(s, c))
	}
	return statuses
}

// containerStatus is one entry of the status lists (A-CST-1..16).
func containerStatus(s *step, c *container) v1.ContainerStatus {
	again := runsAgain(s, c)
	started := c.started() && !again
	status := v1.ContainerStatus{
		Name:         c.spec.Name,
		Image:        c.spec.Image,
		RestartCount: c.RestartCount,
		Ready:        c.ready() || again,
		Started:      &started,
		VolumeMounts: volumeMountStatuses(s, c.spec.VolumeMounts),
	}
	if c.kind == ephemeralContainer {
		status.Started = nil // A-CST-12
	}
	if c.ID != "" {
		status.ContainerID = containerID(s, c.ID)
		status.ImageID = c.ImageRef
		if c.ImageName != "" {
			status.Image = c.ImageName
		}
		status.AllocatedResources = c.spec.Resources.Requests.DeepCopy()
		status.Resources = containerResources(c)
	}
	if c.ID != "" && c.spec.Lifecycle != nil {
		status.StopSignal = c.spec.Lifecycle.DeepCopy().StopSignal // B-SIG-1
	}
	status.AllocatedResourcesStatus = devicesStatus(s, c)
	if c.User != nil {
		status.User = c.User.DeepCopy()
	}
	status.State, status.LastTerminationState = containerStates(s, c)
	return status
}

// containerStates returns state and lastState (A-CST-3, A-CST-5, A-CST-6).
func containerStates(s *step, c *container) (state, last v1.ContainerState) {
	last = terminatedState(c.Last)
	switch {
	case runsAgain(s, c):
		return last, v1.ContainerState{}
	case c.Position == running:
		state.Running = &v1.ContainerStateRunning{StartedAt: *seconds(c.StartedAt)}
	case c.Exit == nil:
		state.Waiting = waiting(s, c)
	case waitsForRestart(s, c), restartsUnasked(s, c):
		state.Waiting = waiting(s, c)
		last = terminatedState(c.Exit)
	default:
		state = terminatedState(c.Exit)
	}
	if state.Terminated == nil && s.kept.Stage >= Terminated && everReached(s, c) {
		state = terminatedState(unaccounted())
	}
	return state, last
}

// runsAgain says whether a completed init container runs again in a new sandbox and the
// API would refuse to take its end back. The previous end is then shown until there is a
// new one (A-STAT-6).
func runsAgain(s *step, c *container) bool {
	if c.kind != initContainer || c.Exit != nil || c.Last == nil || !c.LastDone || s.round.Ever || s.restartAllRule {
		return false
	}
	return s.pod.Spec.RestartPolicy != v1.RestartPolicyAlways || c.spec.RestartPolicy != nil
}

// waitsForRestart says whether an exited container shows why it does not run instead of
// its exit (A-CST-6). In a deleted pod it shows the exit, because nothing starts any
// more.
func waitsForRestart(s *step, c *container) bool {
	return c.Failure != nil && c.Verdict.Restart && s.stop.Cause != Deleted
}

// restartsUnasked says whether a killed container runs again although its exit alone
// would not restart it, such as exit code 0 under OnFailure. The API refuses to take such
// an end back (A-API-4), so it is never shown as the state. In a pod with a rule that
// restarts all containers the API does not refuse.
func restartsUnasked(s *step, c *container) bool {
	return !s.restartAllRule && s.kept.Stage == Syncing && c.Kill != nil && c.Verdict.Restart && !decideRestart(s, c, c.Exit).Restart
}

// waiting shows the reason of the last failed start, or the default (A-CST-2).
func waiting(s *step, c *container) *v1.ContainerStateWaiting {
	if c.Failure != nil {
		return &v1.ContainerStateWaiting{Reason: c.Failure.Reason, Message: c.Failure.Message}
	}
	if s.round.Active && c.Exit != nil {
		return &v1.ContainerStateWaiting{Reason: reasonRestartingAll, Message: messageRestartingAll}
	}
	if len(s.inits()) > 0 {
		return &v1.ContainerStateWaiting{Reason: "PodInitializing"}
	}
	return &v1.ContainerStateWaiting{Reason: "ContainerCreating"}
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
	return *seconds(t)
}

func containerID(s *step, id string) string { return s.options.RuntimeName + "://" + id }

// volumeMountStatuses lists the mounts, and for read-only ones whether mounts below them
// are read-only too (A-CST-16, A-VOL-2).
func volumeMountStatuses(s *step, mounts []v1.VolumeMount) []v1.VolumeMountStatus {
	var statuses []v1.VolumeMountStatus
	for _, m := range mounts {
		status := v1.VolumeMountStatus{Name: m.Name, MountPath: m.MountPath, ReadOnly: m.ReadOnly}
		if m.ReadOnly {
			status.RecursiveReadOnly = recursiveReadOnly(s, m)
		}
		statuses = append(statuses, status)
	}
	return statuses
}

// recursiveReadOnly is the mode that a read-only mount gets. A mount that can't have the
// mode it asks for is never made (CreateContainerConfigError).
func recursiveReadOnly(s *step, m v1.VolumeMount) *v1.RecursiveReadOnlyMode {
	asked := m.RecursiveReadOnly != nil && *m.RecursiveReadOnly != v1.RecursiveReadOnlyDisabled
	propagated := m.MountPropagation != nil && *m.MountPropagation != v1.MountPropagationNone
	if asked && s.options.RecursiveReadOnly && !propagated {
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
