package lifecycle

import (
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	resourcehelper "k8s.io/component-helpers/resource"
)

// planResize carries out an allocation, one call at a time (A-ACT-12): the pod's cgroup
// gets room for the old and the new values, containers are resized or restarted,
// shrinking ones before growing ones, and then the cgroup gets only the new values.
func planResize(s *step) {
	planAdmission(s)
	r := &s.resize
	if r.Progress == nil || r.call.op != 0 || !s.setup.cgroup.done || !s.due(r.retryAt) {
		return
	}
	switch {
	case !r.measured && s.sandbox.State == sandboxReady && anyMemoryLimitShrinks(r.Held):
		r.call = resizeCall{op: s.nextID()}
		s.do(MeasureMemory{ID: r.call.op, SandboxID: s.sandbox.ID})
	case r.lacksRoom():
		resizeCgroup(s, true)
	default:
		resizeContainers(s)
	}
}

// lacksRoom says whether the pod's cgroup may be smaller than what is allocated.
func (r *resize) lacksRoom() bool {
	return !r.room && (anyGrows(r.Held, v1.ResourceMemory) || anyGrows(r.Held, v1.ResourceCPU))
}

// makesRoom says whether the pod's cgroup is about to get the room that it lacks: the next instance of a container, which has what
// is allocated, comes after that (A-ACT-18). A failure keeps nobody waiting.
func (s *step) makesRoom() bool {
	return s.resize.Progress != nil && s.resize.lacksRoom() && !s.now.Before(s.resize.retryAt)
}

// resizeContainers takes the next step to give the containers what is allocated to them.
func resizeContainers(s *step) {
	r := &s.resize
	waits := false
	for _, c := range s.ordered() {
		switch {
		case s.actuatedOrGone(c):
		case c.Position == running && needsRestart(s, c):
			restartResized(s, c)
			waits = true
		case !c.canBeResized():
			waits = true // it will run, or end
		}
	}
	if c, name := nextUpdate(s); c != nil {
		r.call = resizeCall{op: s.nextID(), containerID: c.ID, to: WithResources(c.Actuated, s.allocatedTo(c), name)}
		s.do(ResizeContainer{ID: r.call.op, Container: c.spec.Name, ContainerID: c.ID, Resources: *r.call.to.DeepCopy()})
		return
	}
	if waits {
		return
	}
	if anyShrinks(r.Held, v1.ResourceMemory) || anyShrinks(r.Held, v1.ResourceCPU) {
		resizeCgroup(s, false)
		return
	}
	resized(s)
}

// resized ends a resize: all containers have what is allocated.
func resized(s *step) {
	r := &s.resize
	s.do(RecordEvent{Type: normal, Reason: "ResizeCompleted", Message: resizeText("Pod resize completed", s.pod, r.Progress.ObservedGeneration, "")})
	tell(s, Report{Subject: ofPod, Kind: "resized", Rule: "A-ACT-12"})
	r.Progress, r.room, r.measured = nil, false, false
	r.Held = r.Held[len(r.Held)-1:]
}

// resizeCgroup gives the pod's cgroup room for all allocations held, or the
// values of the last.
func resizeCgroup(s *step, room bool) {
	r := &s.resize
	r.call = resizeCall{op: s.nextID(), room: room, held: len(r.Held)}
	e := ResizeCgroup{ID: r.call.op, Room: r.unsettled()}
	if s.sandbox.State == sandboxReady {
		e.SandboxID = s.sandbox.ID
	}
	if !room {
		e.Room = e.Room[len(e.Room)-1:]
	}
	s.do(e)
}

// unsettled returns the allocations held if there are several, else nil.
func (r resize) unsettled() []Allocation {
	if len(r.Held) == 1 {
		return nil
	}
	held := slices.Clone(r.Held)
	for i := range held {
		held[i] = held[i].clone()
	}
	return held
}

// restartResized stops a container whose resizePolicy requires a restart for its new
// resources (B-HOOK-7). It starts again whatever its restart policy says.
func restartResized(s *step, c *container) {
	killContainer(s, c, kill{
		Message:   fmt.Sprintf("Container %s resize requires restart", c.spec.Name),
		Deadline:  s.now.Add(s.specGrace()),
		Uncounted: true,
		Verdict:   &verdict{Restart: true, Because: Because{Kind: "its-resize-requires-a-restart"}, Rule: "A-ACT-12"},
		report:    Report{Kind: KindResized, Because: Because{Kind: "resizePolicy-RestartContainer"}, Rule: "A-ACT-12"},
	})
}

// actuatedOrGone says whether no process has resources other than those allocated.
func (m *Machine) actuatedOrGone(c *container) bool {
	return c.Position == absent || c.Position == exited || SameCPUAndMemory(c.Actuated, m.allocatedTo(c))
}

// canBeResized says that the container runs and nobody is about to end it.
func (c *container) canBeResized() bool {
	return c.Position == running && c.Kill == nil && !c.Ending
}

// nextUpdate is the next container to resize, and which resource: memory before CPU,
// shrinking before growing.
func nextUpdate(s *step) (*container, v1.ResourceName) {
	for _, name := range []v1.ResourceName{v1.ResourceMemory, v1.ResourceCPU} {
		var grows *container
		for _, c := range s.ordered() {
			allocated := s.allocatedTo(c)
			if !c.canBeResized() || SameResources(c.Actuated, allocated, name) {
				continue
			}
			if !ResourcesGrow(c.Actuated, allocated, name) {
				return c, name
			}
			if grows == nil {
				grows = c
			}
		}
		if grows != nil {
			return grows, name
		}
	}
	return nil, ""
}

// needsRestart says whether the container's new resources require a restart; a container
// that runs to completion never restarts for them.
func needsRestart(s *step, c *container) bool {
	if c.kind == initContainer {
		return false
	}
	for _, p := range c.spec.ResizePolicy {
		if p.RestartPolicy == v1.RestartContainer && !SameResources(c.Actuated, s.allocatedTo(c), p.ResourceName) {
			return true
		}
	}
	return false
}

// resizeAnswered says whether the answer is the expected one and a success; it files a
// failure.
func resizeAnswered(s *step, r Result) (call resizeCall, ok bool) {
	call = s.resize.call
	if call.op == 0 || call.op != r.ID {
		return call, false
	}
	s.resize.call = resizeCall{}
	if r.Failure == nil {
		return call, true
	}
	if c := s.containerWithID(call.containerID); call.containerID == "" || c != nil && c.canBeResized() {
		resizeFailed(s, r.Failure.Message, s.retryAfter(r.Failure))
	}
	return call, false
}

func (f MemoryMeasured) apply(s *step) {
	if _, ok := resizeAnswered(s, f.Result); !ok {
		return
	}
	if problem := tooMuchUsed(s, f); problem != "" {
		resizeFailed(s, problem, s.options.RetryAfter)
		return
	}
	s.resize.measured = true
}

func (f CgroupResized) apply(s *step) {
	call, ok := resizeAnswered(s, f.Result)
	if !ok {
		return
	}
	r := &s.resize
	if call.room {
		r.room = call.held == len(r.Held) // else another was added meanwhile
		return
	}
	r.Held = r.Held[call.held-1:]
}

func (f ContainerResized) apply(s *step) {
	call, ok := resizeAnswered(s, f.Result)
	c := s.containerWithID(call.containerID)
	if !ok || c == nil || c.Exit != nil {
		return
	}
	c.Actuated, c.Reported = call.to, f.Actual.DeepCopy()
}

// resizeFailed reports that an allocation could not be carried out (A-COND-10), and
// retries it.
func resizeFailed(s *step, message string, after time.Duration) {
	r := &s.resize
	r.retryAt, r.measured = s.now.Add(after), false
	old := r.Progress
	if old == nil || s.kept.Stage != Syncing {
		return
	}
	r.Progress = resizeCondition(s, v1.PodResizeInProgress, old, v1.PodCondition{
		Reason: v1.PodReasonError, Message: message, ObservedGeneration: old.ObservedGeneration,
	})
	if old.Reason != v1.PodReasonError || old.Message != message {
		s.do(RecordEvent{Type: warning, Reason: "ResizeError", Message: resizeText("Pod resize error", s.pod, old.ObservedGeneration, message)})
	}
	tellRetry(s, Report{Subject: ofPod, Kind: "resize-failed", Message: message, Rule: "A-ACT-12"}, r.retryAt)
}

// tooMuchUsed says which memory limits would shrink below the current usage; empty if
// none.
func tooMuchUsed(s *step, f MemoryMeasured) string {
	var problems []string
	limitOf := func(pod *v1.Pod) resource.Quantity {
		return PodLimits(pod, resourcehelper.PodResourcesOptions{})[v1.ResourceMemory]
	}
	was, is := limitOf(s.resize.Held[0].On(s.pod)), limitOf(s.pod)
	if limit := is.Value(); limit != 0 && (was.IsZero() || is.Cmp(was) < 0) && f.Pod >= limit {
		problems = append(problems, fmt.Sprintf("attempting to set pod memory limit (%d) below current usage (%d)", limit, f.Pod))
	}
	for _, used := range f.Containers {
		c := s.containerNamed(used.Name)
		if c == nil || c.kind == ephemeralContainer || !c.canBeResized() || needsRestart(s, c) {
			continue
		}
		allocated := s.allocatedTo(c)
		limit := allocated.Limits.Memory().Value()
		if LimitShrinks(c.Actuated, allocated, v1.ResourceMemory) && used.Bytes >= limit {
			problems = append(problems, fmt.Sprintf("attempting to set container %q memory limit (%d) below current usage (%d)", used.Name, limit, used.Bytes))
		}
	}
	switch len(problems) {
	case 0:
		return ""
	case 1:
		return "cannot decrease memory limits: " + problems[0]
	}
	return "cannot decrease memory limits: [" + strings.Join(problems, ", ") + "]"
}
