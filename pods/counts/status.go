package counts

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/lifecycle"
)

// milestone is one of a pod's start.
type milestone string

const (
	sandboxReady milestone = "sandbox"     // its sandbox and its network are there
	initialized  milestone = "initialized" // its init containers have completed; of a pod that has any
	allRunning   milestone = "running"     // all its containers run
	ready        milestone = "ready"
)

// Status takes a new status of a pod; before has no phase at first.
func (c *Counts) Status(pod *v1.Pod, before, after *v1.PodStatus) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	l := c.of(pod)
	if before.Phase == "" && after.Phase == v1.PodPending && l.seen.IsZero() {
		l.seen = now
	}
	if !l.met {
		l.met = true
		l.remember(before)
	}
	if !l.seen.IsZero() {
		c.start(pod, l, after, now)
	}
	c.restarted(l, after, now)
	c.restartAll(l, after, now)
}

// remember takes what has happened before this lifepod.
func (l *life) remember(status *v1.PodStatus) {
	for _, s := range lifecycle.ContainerStatuses(status) {
		l.counted[s.Name] = s.RestartCount
		for _, t := range ends(s) {
			l.known[t.ContainerID] = true
		}
	}
}

// start measures how long a new pod took to a milestone, each once.
func (c *Counts) start(pod *v1.Pod, l *life, status *v1.PodStatus, now time.Time) {
	reach := func(m milestone, so bool) {
		if so && !l.reached[m] {
			l.reached[m] = true
			c.starts.WithLabelValues(string(m)).Observe(now.Sub(l.seen).Seconds())
		}
	}
	is := func(t v1.PodConditionType) bool {
		return slices.ContainsFunc(status.Conditions, func(c v1.PodCondition) bool { return c.Type == t && c.Status == v1.ConditionTrue })
	}
	reach(sandboxReady, is(v1.PodReadyToStartContainers))
	reach(initialized, is(v1.PodInitialized) && len(pod.Spec.InitContainers) > 0)
	reach(allRunning, allRun(status))
	reach(ready, is(v1.PodReady))
}

// restarted counts restarts, and measures from an exit to the next run.
func (c *Counts) restarted(l *life, status *v1.PodStatus, now time.Time) {
	for _, s := range lifecycle.ContainerStatuses(status) {
		for _, t := range ends(s) {
			if t.ContainerID != "" && !l.known[t.ContainerID] {
				l.known[t.ContainerID] = true
				l.exits[s.Name] = now
			}
		}
		if s.RestartCount > l.counted[s.Name] {
			c.restarts.WithLabelValues(l.cause(s)).Add(float64(s.RestartCount - l.counted[s.Name]))
			delete(l.causes, s.Name)
		}
		l.counted[s.Name] = s.RestartCount
		if exit, ended := l.exits[s.Name]; ended && s.State.Running != nil {
			c.restartTime.Observe(now.Sub(exit).Seconds())
			delete(l.exits, s.Name)
		}
	}
	l.forget(status)
}

// forget drops the ends that no status names any more.
func (l *life) forget(status *v1.PodStatus) {
	named := map[string]bool{}
	for _, s := range lifecycle.ContainerStatuses(status) {
		for _, t := range ends(s) {
			named[t.ContainerID] = true
		}
	}
	l.known = named
}

// cause is why a container was restarted.
func (l *life) cause(s *v1.ContainerStatus) string {
	if cause := l.causes[s.Name]; cause != "" {
		return cause
	}
	if !l.restartAll.IsZero() {
		return "all_containers"
	}
	switch t := s.LastTerminationState.Terminated; {
	case t == nil || t.ExitCode != 0 && t.Reason != "OOMKilled":
		return failed
	case t.Reason == "OOMKilled":
		return oomKilled
	}
	return completed
}

// restartAll counts restarts of all containers, and how long they take (B-RAC).
func (c *Counts) restartAll(l *life, status *v1.PodStatus, now time.Time) {
	restarting := slices.ContainsFunc(status.Conditions, func(c v1.PodCondition) bool {
		return c.Type == v1.AllContainersRestarting && c.Status == v1.ConditionTrue
	})
	switch {
	case restarting && l.restartAll.IsZero():
		c.restartsAll.Inc()
		l.restartAll = now
	case !restarting && !l.restartAll.IsZero() && allRun(status):
		c.restartAllTime.Observe(now.Sub(l.restartAll).Seconds())
		l.restartAll = time.Time{}
	}
}

func allRun(status *v1.PodStatus) bool {
	return len(status.ContainerStatuses) > 0 && !slices.ContainsFunc(status.ContainerStatuses, func(s v1.ContainerStatus) bool { return s.State.Running == nil })
}

func ends(s *v1.ContainerStatus) (list []*v1.ContainerStateTerminated) {
	for _, state := range []v1.ContainerState{s.LastTerminationState, s.State} {
		if state.Terminated != nil {
			list = append(list, state.Terminated)
		}
	}
	return list
}
