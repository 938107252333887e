package run

import (
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// The pauses after failures of a Job's pods, as of Kubernetes' Job controller.
const (
	firstJobBackOff = 10 * time.Second
	longestBackOff  = 10 * time.Minute
)

// jobState is how far a Job is, and decides what comes next, as Kubernetes' Job controller does. It is pure: the time is
// given. A pod is known by a number.
type jobState struct {
	spec    *batchv1.JobSpec
	began   time.Time
	active  map[int]*jobPod
	begun   int          // pods so far
	done    map[int]bool // indexes, of an Indexed Job
	indexed bool

	succeeded, failed int
	inARow            int       // failures since the last success
	lastFailure       time.Time // of those
	lastCode          int       // of the last pod that failed

	reason string // why the Job has failed; empty: it has not
	code   int    // of the Job that has failed
}

type jobPod struct {
	index    int
	restarts int // of its containers
	code     int // of its last failure
}

type jobStep struct {
	begin  map[int]int // indexes of pods, by their numbers
	end    bool        // the pods that run
	over   bool        // nothing is to come
	wakeAt time.Time   // zero: when a pod has changed
}

func newJobState(spec *batchv1.JobSpec, began time.Time) *jobState {
	return &jobState{
		spec: spec, began: began, active: map[int]*jobPod{}, done: map[int]bool{},
		indexed: ptr.Deref(spec.CompletionMode, batchv1.NonIndexedCompletion) == batchv1.IndexedCompletion,
	}
}

// next decides. Once somebody has asked for the end nothing begins any more.
func (s *jobState) next(now time.Time, ending bool) (step jobStep) {
	s.judge(now)
	step.end = s.reason != ""
	if s.spec.ActiveDeadlineSeconds != nil && !step.end {
		step.wakeAt = s.deadline()
	}
	if step.end || ending || s.complete() {
		step.over = len(s.active) == 0
		return step
	}
	missing := s.wanted() - len(s.active)
	if missing <= 0 {
		return step
	}
	if due := s.lastFailure.Add(s.backOff()); s.inARow > 0 && now.Before(due) {
		if step.wakeAt.IsZero() || due.Before(step.wakeAt) {
			step.wakeAt = due
		}
		return step
	}
	step.begin = map[int]int{}
	for range missing {
		index := s.freeIndex()
		s.begun++
		s.active[s.begun] = &jobPod{index: index}
		step.begin[s.begun] = index
	}
	return step
}

// judge finds out whether the Job has failed.
func (s *jobState) judge(now time.Time) {
	limit := int(ptr.Deref(s.spec.BackoffLimit, 6))
	restarts, code := 0, s.lastCode
	for _, p := range s.active {
		if restarts += p.restarts; p.code != 0 {
			code = p.code
		}
	}
	onFailure := s.spec.Template.Spec.RestartPolicy == v1.RestartPolicyOnFailure
	switch {
	case s.reason != "":
	case s.failed > limit, onFailure && restarts > 0 && restarts >= limit:
		s.fail(batchv1.JobReasonBackoffLimitExceeded, code)
	case s.spec.ActiveDeadlineSeconds != nil && !now.Before(s.deadline()) && !(s.complete() && len(s.active) == 0):
		s.fail(batchv1.JobReasonDeadlineExceeded, code)
	}
}

func (s *jobState) fail(reason string, code int) {
	if s.reason == "" {
		s.reason, s.code = reason, max(code, 1)
	}
}

func (s *jobState) deadline() time.Time {
	return s.began.Add(time.Duration(*s.spec.ActiveDeadlineSeconds) * time.Second)
}

// complete says whether enough pods have succeeded; without a number one is enough, and those that run are waited for.
func (s *jobState) complete() bool {
	if s.spec.Completions == nil {
		return s.succeeded > 0
	}
	return s.succeeded >= int(*s.spec.Completions)
}

// wanted are how many pods are to run at a time.
func (s *jobState) wanted() int {
	parallelism := int(ptr.Deref(s.spec.Parallelism, 1))
	if s.spec.Completions == nil {
		return parallelism
	}
	return min(parallelism, int(*s.spec.Completions)-s.succeeded)
}

// freeIndex is the lowest one that no pod is for.
func (s *jobState) freeIndex() int {
	if !s.indexed {
		return 0
	}
	taken := map[int]bool{}
	for _, p := range s.active {
		taken[p.index] = true
	}
	for i := 0; ; i++ {
		if !taken[i] && !s.done[i] {
			return i
		}
	}
}

// backOff is the pause after the last failure.
func (s *jobState) backOff() time.Duration {
	pause := firstJobBackOff
	for range s.inARow - 1 {
		if pause *= 2; pause >= longestBackOff {
			return longestBackOff
		}
	}
	return pause
}

func (s *jobState) status(number int, status *v1.PodStatus) {
	p := s.active[number]
	if p == nil {
		return
	}
	p.restarts = 0
	for _, c := range slices.Concat(status.InitContainerStatuses, status.ContainerStatuses) {
		p.restarts += int(c.RestartCount)
		for _, t := range []*v1.ContainerStateTerminated{c.LastTerminationState.Terminated, c.State.Terminated} {
			if t != nil && t.ExitCode != 0 {
				p.code = int(t.ExitCode)
			}
		}
	}
}

// ended takes that nothing is left of a pod. Those that were asked to end for the Job's sake don't count.
func (s *jobState) ended(number, code int, status *v1.PodStatus, now time.Time) {
	p := s.active[number]
	delete(s.active, number)
	switch {
	case status.Phase == v1.PodSucceeded:
		s.succeeded++
		s.done[p.index] = true
		s.inARow = 0
	case s.reason != "":
	default:
		action := failureAction(s.spec.PodFailurePolicy, status)
		if action == batchv1.PodFailurePolicyActionFailJob {
			s.fail(batchv1.JobReasonPodFailurePolicy, code)
		}
		if action != batchv1.PodFailurePolicyActionIgnore {
			s.failed++
		}
		s.lastCode, s.lastFailure = code, now
		s.inARow++
	}
}

// failureAction is that of the first rule that a failed pod matches.
func failureAction(policy *batchv1.PodFailurePolicy, status *v1.PodStatus) batchv1.PodFailurePolicyAction {
	if policy != nil {
		for _, rule := range policy.Rules {
			if matches(&rule, status) {
				return rule.Action
			}
		}
	}
	return batchv1.PodFailurePolicyActionCount
}

func matches(rule *batchv1.PodFailurePolicyRule, status *v1.PodStatus) bool {
	if on := rule.OnExitCodes; on != nil {
		return slices.ContainsFunc(slices.Concat(status.ContainerStatuses, status.InitContainerStatuses), func(c v1.ContainerStatus) bool {
			ended := c.State.Terminated
			return ended != nil && ended.ExitCode != 0 && (on.ContainerName == nil || *on.ContainerName == c.Name) &&
				slices.Contains(on.Values, ended.ExitCode) == (on.Operator == batchv1.PodFailurePolicyOnExitCodesOpIn)
		})
	}
	return slices.ContainsFunc(status.Conditions, func(c v1.PodCondition) bool {
		return slices.ContainsFunc(rule.OnPodConditions, func(want batchv1.PodFailurePolicyOnPodConditionsPattern) bool {
			return c.Type == want.Type && c.Status == want.Status
		})
	})
}
