package control

import (
	"strconv"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/lifepod/lifepod/lifecycle"
)

// Object is one pod as an API server would have it: the spec as accepted, the
// status as last published, its events, and those who watch. Its methods never
// block, so a worker may call them.
type Object struct {
	mu       sync.Mutex
	pod      *v1.Pod // never changed, only replaced
	version  int64
	events   eventList
	watchers map[*Watcher]struct{}
	changed  chan struct{} // closed when pod is replaced, or gone
	gone     chan struct{} // closed when nothing of the pod is left
}

// NewObject begins with a pod that was defaulted and validated, and is not changed
// after that.
func NewObject(pod *v1.Pod) *Object {
	first := *pod
	o := &Object{pod: &first, version: 1, watchers: map[*Watcher]struct{}{}, changed: make(chan struct{}), gone: make(chan struct{})}
	o.pod.APIVersion, o.pod.Kind = "v1", "Pod"
	o.pod.ResourceVersion = "1"
	return o
}

// Pod is the pod as it is now; it is shared and must not be changed.
func (o *Object) Pod() *v1.Pod {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.pod
}

// Next is the pod as it is now, and a channel that is closed when it is another.
func (o *Object) Next() (*v1.Pod, <-chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.pod, o.changed
}

// Status takes a newly published status, which the object keeps.
func (o *Object) Status(status v1.PodStatus) {
	_ = o.change(func(pod *v1.Pod) error {
		pod.Status = status
		return nil
	})
}

// Updated takes a newer version of the pod from where it is managed; the status
// stays the one that was published here.
func (o *Object) Updated(pod *v1.Pod) {
	_ = o.change(func(next *v1.Pod) error {
		status := next.Status
		*next = *pod
		next.APIVersion, next.Kind, next.Status = "v1", "Pod", status
		return nil
	})
}

// Event takes a Kubernetes Event of the pod.
func (o *Object) Event(at time.Time, e lifecycle.RecordEvent) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.events.add(at, e)
}

// Events are the pod's newest events, the oldest first.
func (o *Object) Events() []v1.Event {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.events.all(o.pod)
}

// StopRequested notes that the pod's end was asked for, as an API server does on
// delete: deletionTimestamp is when the grace ends, and only comes nearer (B-WRK-9).
func (o *Object) StopRequested(at time.Time, request lifecycle.StopRequested) {
	grace := request.Grace(o.Pod())
	seconds := int64(grace / time.Second)
	ends := metav1.NewTime(at.Add(grace).Truncate(time.Second))
	_ = o.change(func(pod *v1.Pod) error {
		switch {
		case pod.DeletionTimestamp == nil:
			pod.Generation++ // A-COND-11
		case !ends.Before(pod.DeletionTimestamp) && seconds >= *pod.DeletionGracePeriodSeconds:
			return errUnchanged
		}
		pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = &ends, &seconds
		return nil
	})
}

// Resume takes over what another lifepod, which was killed, has made of the pod:
// what was asked for meanwhile, and how far it has come.
func (o *Object) Resume(m *lifecycle.Machine, now time.Time) {
	was := m.Object()
	_ = o.change(func(pod *v1.Pod) error {
		pod.Spec, pod.Generation, pod.Status = was.Spec, was.Generation, was.Status
		if ends := was.DeletionTimestamp; ends != nil {
			left := max(0, int64(ends.Sub(now)/time.Second))
			pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = ends, &left
		}
		return nil
	})
}

// Gone ends every watch: nothing of the pod is left.
func (o *Object) Gone() {
	o.mu.Lock()
	defer o.mu.Unlock()
	select {
	case <-o.gone:
		return
	default:
	}
	close(o.gone)
	o.send(watch.Deleted)
}

// Done is closed when nothing of the pod is left.
func (o *Object) Done() <-chan struct{} { return o.gone }

// change replaces the pod by a copy that edit has changed, unless edit returns an error.
// The copy is shallow: edit must replace, not change, what lies below the first level.
func (o *Object) change(edit func(pod *v1.Pod) error) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	next := *o.pod
	if err := edit(&next); err != nil {
		return err
	}
	o.version++
	next.ResourceVersion = strconv.FormatInt(o.version, 10)
	o.pod = &next
	o.send(watch.Modified)
	return nil
}

func (o *Object) send(what watch.EventType) {
	close(o.changed)
	o.changed = make(chan struct{})
	for w := range o.watchers {
		if !w.put(Change{Type: what, Pod: o.pod}) {
			delete(o.watchers, w)
		}
	}
}
