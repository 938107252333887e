package stats

import (
	"slices"
	"strconv"
	"time"

	v1 "k8s.io/api/core/v1"
)

// life is what is remembered of a pod for the next change of its status. Guarded by
// Metrics.mu.
type life struct {
	seen    time.Time     // when it was seen first; zero once it has started, or was taken over
	pulling time.Duration // of its images
}

// Status takes a new status of a pod; before has no phase at first.
func (m *Metrics) Status(pod *v1.Pod, before, after *v1.PodStatus) {
	m.pods.own.Status(pod, before, after)
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	l := m.lives[pod.UID]
	if l == nil {
		l = &life{}
		m.lives[pod.UID] = l
		if before.Phase == "" && after.Phase == v1.PodPending {
			l.seen = now
			m.pods.perPod.Observe(float64(len(pod.Spec.Containers)))
		}
	}
	if before.Phase != "" {
		m.containersEnded(pod, before, after)
	}
	m.start(pod, l, after, now)
	m.usersWait(pod, after)
}

// Gone forgets a pod.
func (m *Metrics) Gone(pod *v1.Pod) {
	m.mu.Lock()
	delete(m.lives, pod.UID)
	delete(m.users, pod.UID)
	m.mu.Unlock()
	m.probes.forget(pod)
	m.pods.own.Gone(pod)
}

// start measures until all containers of a new pod run, once.
func (m *Metrics) start(pod *v1.Pod, l *life, status *v1.PodStatus, now time.Time) {
	if l.seen.IsZero() || !allRun(status) {
		return
	}
	total := now.Sub(pod.CreationTimestamp.Time)
	m.pods.startDuration.Observe(now.Sub(l.seen).Seconds())
	m.pods.startTotal.WithLabelValues().Observe(total.Seconds())
	m.pods.startSLI.WithLabelValues().Observe(max(0, total-l.pulling-initTime(status)).Seconds())
	l.seen = time.Time{}
}

func allRun(status *v1.PodStatus) bool {
	runs := func(s v1.ContainerStatus) bool { return s.State.Running != nil }
	return len(status.ContainerStatuses) > 0 && !slices.ContainsFunc(status.ContainerStatuses, func(s v1.ContainerStatus) bool { return !runs(s) })
}

// initTime is how long init containers have run, one after the other.
func initTime(status *v1.PodStatus) time.Duration {
	var sum time.Duration
	for _, s := range status.InitContainerStatuses {
		if t := s.State.Terminated; t != nil {
			sum += t.FinishedAt.Sub(t.StartedAt.Time)
		}
	}
	return sum
}

// containersEnded counts the ends of instances that were not seen before.
func (m *Metrics) containersEnded(pod *v1.Pod, before, after *v1.PodStatus) {
	known := map[string]bool{}
	for _, s := range allStatuses(before) {
		for _, t := range ends(s) {
			known[t.ContainerID] = true
		}
	}
	for _, s := range allStatuses(after) {
		for _, t := range ends(s) {
			if t.ContainerID != "" && !known[t.ContainerID] {
				known[t.ContainerID] = true
				m.pods.terminated.WithLabelValues(kindOf(pod, s.Name), strconv.Itoa(int(t.ExitCode)), t.Reason).Inc()
			}
		}
	}
}

func allStatuses(status *v1.PodStatus) []v1.ContainerStatus {
	return slices.Concat(status.InitContainerStatuses, status.ContainerStatuses, status.EphemeralContainerStatuses)
}

func ends(s v1.ContainerStatus) []*v1.ContainerStateTerminated {
	var list []*v1.ContainerStateTerminated
	for _, state := range []v1.ContainerState{s.LastTerminationState, s.State} {
		if state.Terminated != nil {
			list = append(list, state.Terminated)
		}
	}
	return list
}
