package lifecycle

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// A resize gives containers other CPU and memory while they run (KEP-1287), or the pod as
// a whole (KEP-5419). When requested, it changes the spec; when the node admits it, it is allocated (A-ADM-7);
// when carried out, it is actuated. The spec of the machine's pod has what is allocated,
// so no other rule needs to know about resizes.

// resize is how far a change of the pod's resources has come; the spec has what is
// allocated.
type resize struct {
	Desired  *Allocation      `json:"desired,omitempty"`  // requested and not allocated; nil: nothing is
	Before   int64            `json:"before,omitzero"`    // the generation before the first request that the node has not judged
	Pending  *v1.PodCondition `json:"pending,omitempty"`  // PodResizePending
	Progress *v1.PodCondition `json:"progress,omitempty"` // PodResizeInProgress; nil: all is actuated
	// Held are the allocations that the pod is between, oldest first: its cgroup has the
	// values of the first and must have room for all until every container has the last.
	// If there is only one, there is nothing to do.
	Held []Allocation `json:"held,omitempty"`

	resizing
}

// resizing is the step of a resize that is under way. On resume it is asked for again,
// which the node, the cgroup and the runtime allow.
type resizing struct {
	admit    work
	room     bool // the cgroup has room for all of Held
	measured bool // the memory in use was compared with the limits that shrink
	call     resizeCall
	retryAt  time.Time
}

// resizeCall is the one effect under way that carries out a resize.
type resizeCall struct {
	op          EffectID
	containerID string                  // of ResizeContainer
	to          v1.ResourceRequirements // of ResizeContainer
	room        bool                    // of ResizeCgroup: room for all of Held, not only the last
	held        int                     // of ResizeCgroup: the length of Held at the time
}

// How long to wait before asking again for a deferred resize (A-ACT-15).
const (
	firstDeferredRetry = 30 * time.Second
	deferredRetry      = 3 * time.Minute
)

func newResize(pod *v1.Pod) resize {
	return resize{Held: []Allocation{allocation(pod)}}
}

// RequestedPod is the pod as an API server has it: with the requested resources,
// allocated or not. The caller owns the copy.
func (m *Machine) RequestedPod() *v1.Pod {
	if m.resize.Desired == nil {
		return m.pod.DeepCopy()
	}
	return m.resize.Desired.On(m.pod)
}

// apply files a request as a change of the spec. It ignores names that the
// pod does not have.
func (f ResizeRequested) apply(s *step) {
	if s.kept.Stage != Syncing {
		tell(s, Report{Subject: ofPod, Kind: "is-not-resized", Because: Because{Kind: becauseEnding}, Rule: "B-WRK-4"})
		return
	}
	was := allocation(s.RequestedPod())
	wanted := was.clone()
	if f.Pod != nil {
		wanted.Pod = f.Pod.DeepCopy()
	}
	for i := range wanted.Containers {
		for _, c := range f.Containers {
			if c.Name == wanted.Containers[i].Name {
				wanted.Containers[i].Resources = *c.Resources.DeepCopy()
			}
		}
	}
	if equality.Semantic.DeepEqual(was, wanted) {
		return
	}
	if s.observedGeneration() == s.pod.Generation {
		s.resize.Before = s.pod.Generation
	}
	s.changePod()
	s.pod.Generation++
	s.resize.admit = work{}
	s.resize.Desired = &wanted
	if equality.Semantic.DeepEqual(wanted, allocation(s.pod)) {
		s.resize.Desired, s.resize.Pending = nil, nil
	}
	tell(s, Report{Subject: ofPod, Kind: "resize-requested", Rule: "A-ACT-15"})
}

// observedGeneration is the generation that the status shows (A-COND-11). That of a
// resize is shown only once the node has judged the resize.
func (m *Machine) observedGeneration() int64 {
	r := m.resize
	judged := r.Pending != nil && r.Pending.ObservedGeneration > r.Before
	if r.Desired == nil || judged || m.kept.Stage != Syncing {
		return m.pod.Generation
	}
	return r.Before
}

// planAdmission asks the node whether it has room for what is asked for.
func planAdmission(s *step) {
	if s.resize.Desired == nil {
		return
	}
	if id, ok := s.begin(&s.resize.admit); ok {
		s.do(AdmitResize{ID: id, Pod: s.RequestedPod()})
	}
}

func (f ResizeAdmitted) apply(s *step) {
	if !s.finish(&s.resize.admit, f.Result) || f.Failure != nil || s.kept.Stage != Syncing {
		return
	}
	if f.Reason == "" {
		allocate(s)
		return
	}
	resizePending(s, f)
}

// apply asks again at once. An answer under way may be outdated.
func (RoomFreed) apply(s *step) {
	if r := &s.resize; r.Desired != nil && (r.Pending == nil || r.Pending.Reason == v1.PodReasonDeferred) {
		r.admit = work{}
	}
}

// resizePending reports why a resize must wait or is impossible (A-COND-10, A-EVT-5).
func resizePending(s *step, f ResizeAdmitted) {
	r := &s.resize
	report := Report{Subject: ofPod, Kind: "resize-infeasible", Message: f.Message, Rule: "A-ACT-15"}
	if f.Reason != v1.PodReasonInfeasible {
		f.Reason = v1.PodReasonDeferred
		after := deferredRetry
		if r.Pending == nil || r.Pending.ObservedGeneration != s.pod.Generation {
			after = firstDeferredRetry
		}
		r.admit = work{retryAt: s.now.Add(after)}
		report.Kind, report.Outcome, report.Span = "resize-deferred", ThenTryAgain, after
	}
	old := r.Pending
	r.Pending = resizeCondition(s, v1.PodResizePending, old, v1.PodCondition{Reason: f.Reason, Message: f.Message})
	r.Pending.ObservedGeneration = s.pod.Generation
	if old == nil || old.Reason != f.Reason || old.ObservedGeneration != s.pod.Generation {
		s.do(RecordEvent{
			Type: warning, Reason: "Resize" + f.Reason,
			Message: resizeText("Pod resize "+f.Reason, s.RequestedPod(), s.pod.Generation, f.Message),
		})
	}
	tell(s, report)
}

// allocate makes the requested resources the pod's own. A container whose resources
// change, also by a limit of the pod, starts its back-off over (A-BO-1).
func allocate(s *step) {
	r := &s.resize
	before := allocation(s.pod)
	s.changePod()
	s.pod.Spec.Resources = r.Desired.Pod.DeepCopy()
	for i, c := range s.ordered() {
		c.spec.Resources = *r.Desired.Containers[i].Resources.DeepCopy()
		if !equality.Semantic.DeepEqual(before.givenTo(i), s.allocatedTo(c)) {
			c.BackOff = BackoffPlace{}
		}
	}
	s.podIsNew = true
	r.Desired, r.Pending = nil, nil
	r.Held = append(slices.Clip(r.Held), allocation(s.pod))
	r.room, r.measured, r.retryAt = false, false, time.Time{}
	r.Progress = resizeCondition(s, v1.PodResizeInProgress, nil, v1.PodCondition{ObservedGeneration: s.pod.Generation})
	s.do(RecordEvent{Type: normal, Reason: "ResizeStarted", Message: resizeText("Pod resize started", s.pod, s.pod.Generation, "")})
	tell(s, Report{Subject: ofPod, Kind: "resize-accepted", Rule: "A-ACT-15"})
}

// anyGrows says whether the pod as a whole or some container has more in the last of the
// allocations than in one before.
func anyGrows(held []Allocation, name v1.ResourceName) bool {
	return anyChange(held, func(was, is v1.ResourceRequirements) bool {
		return LimitGrows(was, is, name) || CompareResources(is.Requests, was.Requests, name) > 0
	})
}

// anyShrinks says whether the pod as a whole or some container has less.
func anyShrinks(held []Allocation, name v1.ResourceName) bool {
	return anyChange(held, func(was, is v1.ResourceRequirements) bool {
		return LimitShrinks(was, is, name) || CompareResources(is.Requests, was.Requests, name) < 0
	})
}

func anyMemoryLimitShrinks(held []Allocation) bool {
	return anyChange(held, func(was, is v1.ResourceRequirements) bool { return LimitShrinks(was, is, v1.ResourceMemory) })
}

func anyChange(held []Allocation, found func(was, is v1.ResourceRequirements) bool) bool {
	last := held[len(held)-1]
	for _, older := range held[:len(held)-1] {
		if found(orNone(older.Pod), orNone(last.Pod)) {
			return true
		}
		for i := range last.Containers {
			if found(older.Containers[i].Resources, last.Containers[i].Resources) {
				return true
			}
		}
	}
	return false
}

func orNone(r *v1.ResourceRequirements) v1.ResourceRequirements {
	if r == nil {
		return v1.ResourceRequirements{}
	}
	return *r
}

// SameCPUAndMemory says whether two containers have the same CPU and memory, which are
// what a resize can change.
func SameCPUAndMemory(a, b v1.ResourceRequirements) bool {
	return SameResources(a, b, v1.ResourceCPU) && SameResources(a, b, v1.ResourceMemory)
}

// SameResources says whether two containers have the same limit and request of a resource.
func SameResources(a, b v1.ResourceRequirements, name v1.ResourceName) bool {
	return CompareResources(a.Limits, b.Limits, name) == 0 && CompareResources(a.Requests, b.Requests, name) == 0
}

// CompareResources is -1, 0 or 1 if a has less, as much, or more than b. A missing resource counts
// as zero.
func CompareResources(a, b v1.ResourceList, name v1.ResourceName) int {
	q := a[name]
	return q.Cmp(b[name])
}

// ResourcesGrow says whether a change increases a resource: its limit if that changes, else its
// request.
func ResourcesGrow(was, is v1.ResourceRequirements, name v1.ResourceName) bool {
	if LimitGrows(was, is, name) || LimitShrinks(was, is, name) {
		return LimitGrows(was, is, name)
	}
	return CompareResources(is.Requests, was.Requests, name) > 0
}

// LimitShrinks says whether the limit decreases; no limit is the greatest.
func LimitShrinks(was, is v1.ResourceRequirements, name v1.ResourceName) bool {
	return LimitGrows(is, was, name)
}

// LimitGrows says whether the limit increases; no limit is the greatest.
func LimitGrows(was, is v1.ResourceRequirements, name v1.ResourceName) bool {
	from, to := was.Limits[name], is.Limits[name]
	return !from.IsZero() && (to.IsZero() || to.Cmp(from) > 0)
}

// WithResources returns base with one resource taken from another container.
func WithResources(base, from v1.ResourceRequirements, name v1.ResourceName) v1.ResourceRequirements {
	return v1.ResourceRequirements{
		Limits:   withQuantity(base.Limits, from.Limits, name),
		Requests: withQuantity(base.Requests, from.Requests, name),
		Claims:   from.Claims,
	}
}

func withQuantity(base, from v1.ResourceList, name v1.ResourceName) v1.ResourceList {
	out := base.DeepCopy()
	delete(out, name)
	q, found := from[name]
	if !found {
		return out
	}
	if out == nil {
		out = v1.ResourceList{}
	}
	out[name] = q.DeepCopy()
	return out
}

// WithLimitsOf returns the container's resources with the pod's limits of CPU and memory
// where it declares none (A-CRI-8). The pod may have none.
func WithLimitsOf(c v1.ResourceRequirements, pod *v1.ResourceRequirements) v1.ResourceRequirements {
	c = *c.DeepCopy()
	if pod == nil {
		return c
	}
	for _, name := range []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory} {
		own, limit := c.Limits[name], pod.Limits[name]
		if own.IsZero() && !limit.IsZero() {
			c.Limits = withQuantity(c.Limits, pod.Limits, name)
		}
	}
	return c
}
