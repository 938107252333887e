package stats

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/lifecycle"
)

// usersStart is the start of a pod with a user namespace. The kubelet counts it as
// failed if anything fails in the round that creates the sandbox, and then once:
// most errors of user namespaces come from the creation of containers.
type usersStart struct {
	refused []string // the containers that wait because of an error, by the last status
	begins  []string // the containers that begin with the sandbox and have not started yet
}

// sandboxCreated counts a pod that starts. What waits for the network has not begun.
func (m *Metrics) sandboxCreated(pod *v1.Pod, answer lifecycle.SandboxCreated) {
	failure := answer.Failure
	if failure != nil && failure.Reason == lifecycle.NetworkNotReady {
		return
	}
	m.pods.started.Inc()
	// A sandbox with an ID is there; only its status could not be read.
	if failure != nil && failure.Class != lifecycle.Cancelled && answer.SandboxID == "" {
		m.pods.startErrors.Inc()
	}
	if usesHostUsers(pod) {
		return
	}
	m.pods.startedUsers.Inc()
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.users[pod.UID]
	if s == nil {
		s = &usersStart{}
		m.users[pod.UID] = s
	}
	s.begins = beginners(pod)
	switch {
	case failure == nil:
		m.judge(s)
	case failure.Class == lifecycle.Cancelled:
		s.begins = nil
	default:
		m.usersFailed(s)
	}
}

// beginners are the containers that start first in a new sandbox.
func beginners(pod *v1.Pod) []string {
	if len(pod.Spec.InitContainers) > 0 {
		return []string{pod.Spec.InitContainers[0].Name}
	}
	var names []string
	for _, c := range pod.Spec.Containers {
		names = append(names, c.Name)
	}
	return names
}

// usersWait takes from a new status which containers wait because of an error, such
// as that their image can't be pulled, which may be known before there is a sandbox.
func (m *Metrics) usersWait(pod *v1.Pod, status *v1.PodStatus) {
	if usesHostUsers(pod) {
		return
	}
	s := m.users[pod.UID]
	if s == nil {
		s = &usersStart{}
		m.users[pod.UID] = s
	}
	s.refused = nil
	for _, c := range allStatuses(status) {
		if w := c.State.Waiting; w != nil && !slices.Contains([]string{"", "ContainerCreating", "PodInitializing"}, w.Reason) {
			s.refused = append(s.refused, c.Name)
		}
	}
	m.judge(s)
}

// containerBegun takes the outcome of a step of a container's start; last says that
// no other step follows.
func (m *Metrics) containerBegun(pod *v1.Pod, container string, last bool, failure *lifecycle.Failure) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.users[pod.UID]
	if s == nil || !slices.Contains(s.begins, container) {
		return
	}
	switch {
	case failure != nil && failure.Class != lifecycle.Cancelled:
		m.usersFailed(s)
	case failure != nil || last:
		s.begins = slices.DeleteFunc(s.begins, func(name string) bool { return name == container })
	}
}

func (m *Metrics) judge(s *usersStart) {
	if slices.ContainsFunc(s.begins, func(name string) bool { return slices.Contains(s.refused, name) }) {
		m.usersFailed(s)
	}
}

func (m *Metrics) usersFailed(s *usersStart) {
	s.begins = nil
	m.pods.startUsersErrors.Inc()
}

// hasPostStart says whether a container has started only after its hook.
func hasPostStart(pod *v1.Pod, name string) bool {
	return slices.ContainsFunc(slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers), func(c v1.Container) bool {
		return c.Name == name && c.Lifecycle != nil && c.Lifecycle.PostStart != nil
	})
}

// usesHostUsers says whether a pod has no user namespace of its own.
func usesHostUsers(pod *v1.Pod) bool { return pod.Spec.HostUsers == nil || *pod.Spec.HostUsers }
