package nodes

import (
	"context"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/node/publish"
	"github.com/lifepod/lifepod/node/source"
	"github.com/lifepod/lifepod/pods"
	"github.com/lifepod/lifepod/roster"
	"github.com/lifepod/lifepod/sim/live"
)

// Conversion is what one node converts; nil: nothing, its pods live in real time.
type Conversion struct {
	time live.VirtualTime

	mu        sync.Mutex
	realTimes map[types.UID]map[int64]time.Time // real times by virtual ones, in nanoseconds, that the newest status of a pod has
	deletions map[types.UID]deletion
}

// deletion is what the API server has said of a pod's end, and what the node takes it for.
type deletion struct {
	said, is metav1.Time
	grace    int64
}

// NewConversion is for one node, whose pods live in that time; nil: in real time.
func NewConversion(of live.VirtualTime) *Conversion {
	if of == nil {
		return nil
	}
	return &Conversion{time: of, realTimes: map[types.UID]map[int64]time.Time{}, deletions: map[types.UID]deletion{}}
}

// statuses are told to a writer in real time.
type statuses struct {
	to publish.Statuses
	*Conversion
}

// Annotate says which annotations a pod's object has to have.
func (s statuses) Annotate(pod *v1.Pod, annotations map[string]string) {
	s.to.Annotate(pod, annotations)
}

// AwaitSent waits until the API server has all statuses.
func (s statuses) AwaitSent(ctx context.Context) { s.to.AwaitSent(ctx) }

// Set says what the status of a pod is now, in virtual time. It changes the status.
func (s statuses) Set(pod *v1.Pod, hash string, status v1.PodStatus, seen func(error)) {
	s.toReal(pod.UID, &status)
	s.to.Set(pod, hash, status, seen)
}

// Delete says that nothing is left of a pod, whose status was this one. It changes the status.
func (s statuses) Delete(pod *v1.Pod, status v1.PodStatus) {
	s.toReal(pod.UID, &status)
	s.to.Delete(pod, status)
}

// Forget drops what is kept of a pod.
func (s statuses) Forget(uid types.UID) {
	s.to.Forget(uid)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.realTimes, uid)
	delete(s.deletions, uid)
}

// toReal has a status have real times, of each the one that it was told with first.
func (c *Conversion) toReal(uid types.UID, status *v1.PodStatus) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before, now := c.realTimes[uid], map[int64]time.Time{}
	eachTime(status, func(t *metav1.Time) {
		key := t.UnixNano()
		real, known := now[key]
		if !known {
			real = c.real(before, t.Time)
		}
		now[key], t.Time = real, real
	})
	c.realTimes[uid] = now
}

func (c *Conversion) real(known map[int64]time.Time, of time.Time) time.Time {
	if real, known := known[of.UnixNano()]; known {
		return real
	}
	return c.time.Real(of)
}

// Shown is a pod of the node as the API server has it.
func (c *Conversion) Shown(pod *v1.Pod) *v1.Pod {
	if c == nil {
		return pod
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	shown := *pod // whose parts are not changed
	shown.Status = *pod.Status.DeepCopy()
	eachTime(&shown.Status, func(t *metav1.Time) { t.Time = c.real(c.realTimes[pod.UID], t.Time) })
	if d, known := c.deletions[pod.UID]; known && pod.DeletionTimestamp != nil {
		shown.DeletionTimestamp = &d.said
	}
	return &shown
}

// events are told to a recorder in real time.
type events struct {
	publish.Events
	time live.VirtualTime
}

func (e events) Pod(pod *v1.Pod, at time.Time, event lifecycle.RecordEvent) {
	e.Events.Pod(pod, e.time.Real(at), event)
}

// feed tells pods of what the API server says, in virtual time.
type feed struct {
	publish.Feed
	*Conversion
}

func (f feed) Wanted(origin roster.Source, pod *v1.Pod) {
	f.Statuses.Live(pod)
	f.Pods.Wanted(origin, f.toVirtual(pod))
}

// toVirtual is the pod as its node sees it. When it was created is said as in the API: that is compared with other pods' alone.
func (c *Conversion) toVirtual(real *v1.Pod) *v1.Pod {
	pod := *real // whose parts are not changed
	pod.Status = *real.Status.DeepCopy()
	eachTime(&pod.Status, func(t *metav1.Time) { t.Time = c.time.Of(t.Time) })
	if real.DeletionTimestamp != nil {
		is := c.deletion(real)
		pod.DeletionTimestamp = &is
	}
	return &pod
}

// deletion is when a pod's grace ends that the API server deletes: counted from when that was asked for, with the same grace.
func (c *Conversion) deletion(pod *v1.Pod) metav1.Time {
	d := deletion{said: *pod.DeletionTimestamp}
	if g := pod.DeletionGracePeriodSeconds; g != nil {
		d.grace = *g
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if known := c.deletions[pod.UID]; known.said.Equal(&d.said) && known.grace == d.grace {
		return known.is
	}
	grace := time.Duration(d.grace) * time.Second
	asked := c.time.Of(d.said.Add(-grace).Add(time.Second)) // the API has whole seconds: it was not later than this
	if now := c.time.Now(); asked.After(now) {
		asked = now
	}
	d.is = metav1.NewTime(asked.Add(grace))
	c.deletions[pod.UID] = d
	return d.is
}

// eachTime does something with each time of a status that is set.
func eachTime(s *v1.PodStatus, do func(*metav1.Time)) {
	set := func(t *metav1.Time) {
		if t != nil && !t.IsZero() {
			do(t)
		}
	}
	set(s.StartTime)
	for i := range s.Conditions {
		set(&s.Conditions[i].LastProbeTime)
		set(&s.Conditions[i].LastTransitionTime)
	}
	for _, list := range [][]v1.ContainerStatus{s.InitContainerStatuses, s.ContainerStatuses, s.EphemeralContainerStatuses} {
		for i := range list {
			for _, state := range []*v1.ContainerState{&list[i].State, &list[i].LastTerminationState} {
				if state.Running != nil {
					set(&state.Running.StartedAt)
				}
				if state.Terminated != nil {
					set(&state.Terminated.StartedAt)
					set(&state.Terminated.FinishedAt)
				}
			}
		}
	}
}

var (
	_ pods.Statuses = statuses{}
	_ pods.Events   = events{}
	_ source.Feed   = feed{}
)

// StatusesOf is a node's own writer of statuses, unless its pods live in virtual time.
func (c *Conversion) StatusesOf(own publish.Statuses) pods.Statuses {
	if c == nil {
		return own
	}
	return statuses{own, c}
}

func (c *Conversion) EventsOf(own publish.Events) pods.Events {
	if c == nil {
		return own
	}
	return events{own, c.time}
}

// FeedOf is the same for what the API server says.
func (c *Conversion) FeedOf(own publish.Feed) source.Feed {
	if c == nil {
		return own
	}
	return feed{own, c}
}
