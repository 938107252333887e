package publish

import (
	"slices"
	"strings"
	"time"

	"golang.org/x/time/rate"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// component is what users' tools filter events of nodes by (A-EVT-1).
const component = "kubelet"

// Event is something that has happened and that users are told.
type Event struct {
	Object  v1.ObjectReference
	Type    string // Normal or Warning
	Reason  string
	Message string
	At      time.Time
	// Annotations of the event's object; nil: none.
	Annotations map[string]string
}

// PodReference refers to a pod, or with a fieldPath like spec.containers{main} to one of
// its containers (A-EVT-1). A static pod is referred to by its own UID: kubectl
// describe looks for that of a mirror pod.
func PodReference(pod *v1.Pod, fieldPath string) v1.ObjectReference {
	return v1.ObjectReference{
		APIVersion: "v1", Kind: "Pod",
		Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, ResourceVersion: pod.ResourceVersion,
		FieldPath: fieldPath,
	}
}

// NodeReference refers to a node; its UID is empty as long as it is not known.
func NodeReference(name string, uid types.UID) v1.ObjectReference {
	return v1.ObjectReference{APIVersion: "v1", Kind: "Node", Name: name, UID: uid}
}

// object is the event as the API has it, but for its name.
func (e *Event) object(node string) *v1.Event {
	namespace := e.Object.Namespace
	if namespace == "" {
		namespace = metav1.NamespaceDefault
	}
	at := metav1.NewTime(e.At)
	return &v1.Event{
		ObjectMeta:          metav1.ObjectMeta{Namespace: namespace, Annotations: e.Annotations},
		InvolvedObject:      e.Object,
		Type:                e.Type,
		Reason:              e.Reason,
		Message:             e.Message,
		FirstTimestamp:      at,
		LastTimestamp:       at,
		Count:               1,
		Source:              v1.EventSource{Component: component, Host: node},
		ReportingController: component,
		ReportingInstance:   node,
	}
}

// kindOf and textOf are the two halves of what makes events equal.
func kindOf(e *v1.Event) string {
	o := &e.InvolvedObject
	return strings.Join([]string{o.Kind, o.Namespace, o.Name, string(o.UID), o.FieldPath, e.Type, e.Reason}, "\x00")
}

func similar(e *v1.Event) (kind, text string) { return kindOf(e), e.Message }

func combined(e *v1.Event) string { return "(combined from similar events): " + e.Message }

// series are equal events: one object in the API, with a count.
type series struct {
	name  string      // of the API's object
	first metav1.Time // when it began
	count int32       // of all
	// event is the newest; never changed, only replaced. nil: it is sent, and needed no longer. Most series have one event, and there
	// are several for each pod.
	event     *v1.Event
	created   bool  // the API has an object of it
	waiting   bool  // it has something to send
	busy      bool  // it is being sent
	sent      int32 // the count that the API has
	tries     int   // failures in a row
	pace      *rate.Limiter
	notBefore time.Time
}

// The first repeatBurst of a series are sent at once, then one per repeatEvery.
const (
	repeatBurst = 25
	repeatEvery = 5 * time.Minute
)

func newSeries(event *v1.Event) *series {
	return &series{name: event.Name, first: event.FirstTimestamp, count: event.Count, event: event, pace: rate.NewLimiter(rate.Every(repeatEvery), repeatBurst)}
}

// again counts one more of the series.
func (s *series) again(event *v1.Event) {
	s.count++
	event.Name, event.FirstTimestamp, event.Count = s.name, s.first, s.count
	s.event = event
}

// due is when the series may be reported again.
func (s *series) due(now time.Time) time.Time {
	return now.Add(s.pace.ReserveN(now, 1).DelayFrom(now))
}

// makeRoom gives one of those up that wait: one whose first occurrence the API
// has, whose count is told with the next one; else the oldest normal event, else
// the oldest of all. Called with mu held.
func (r *Recorder) makeRoom() {
	i := slices.IndexFunc(r.waiting, func(s *series) bool { return s.created })
	if i < 0 {
		r.lost++
		i = max(0, slices.IndexFunc(r.waiting, func(s *series) bool { return s.event.Type == v1.EventTypeNormal }))
	}
	r.waiting[i].waiting = false
	r.waiting = slices.Delete(r.waiting, i, i+1)
}
