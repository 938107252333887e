package control

import (
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifepod/lifepod/lifecycle"
)

// maxEvents is how many different events of one pod are kept.
const maxEvents = 200

// eventList has a pod's events in the order in which they last came. The same
// event again is counted, as an API server's clients do it.
type eventList []occurrence

// occurrence is one event with how often it came. There may be many pods, and few
// ask: it becomes an Event when it is asked for.
type occurrence struct {
	lifecycle.RecordEvent
	id          int64 // of this occurrence, in the Event's name
	first, last time.Time
	count       int32
}

func (l *eventList) add(at time.Time, e lifecycle.RecordEvent) {
	next := occurrence{RecordEvent: e, id: at.UnixNano(), first: at, last: at, count: 1}
	kept := slices.Clone(*l)
	if i := slices.IndexFunc(kept, func(old occurrence) bool { return old.RecordEvent == e }); i >= 0 {
		next.id, next.first, next.count = kept[i].id, kept[i].first, kept[i].count+1
		kept = slices.Delete(kept, i, i+1)
	}
	kept = append(kept, next)
	*l = slices.Clip(kept[max(0, len(kept)-maxEvents):])
}

// all are the Events of the pod.
func (l eventList) all(pod *v1.Pod) []v1.Event {
	list := make([]v1.Event, 0, len(l))
	for _, o := range l {
		first, last := metav1.NewTime(o.first.Truncate(time.Second)), metav1.NewTime(o.last.Truncate(time.Second))
		list = append(list, v1.Event{
			TypeMeta:            metav1.TypeMeta{APIVersion: "v1", Kind: "Event"},
			ObjectMeta:          metav1.ObjectMeta{Namespace: pod.Namespace, Name: fmt.Sprintf("%s.%x", pod.Name, o.id), CreationTimestamp: first},
			InvolvedObject:      reference(pod, o.FieldPath),
			Reason:              o.Reason,
			Message:             o.Message,
			Type:                o.Type,
			Source:              v1.EventSource{Component: "lifepod", Host: pod.Spec.NodeName},
			ReportingController: "lifepod",
			ReportingInstance:   pod.Spec.NodeName,
			FirstTimestamp:      first,
			LastTimestamp:       last,
			Count:               o.count,
		})
	}
	return list
}

func reference(pod *v1.Pod, fieldPath string) v1.ObjectReference {
	return v1.ObjectReference{
		APIVersion: "v1", Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name,
		UID: pod.UID, ResourceVersion: pod.ResourceVersion, FieldPath: fieldPath,
	}
}
