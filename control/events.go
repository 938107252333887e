package control

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifepod/lifepod/lifecycle"
)

// maxEvents is how many different events of one pod are kept.
const maxEvents = 200

// eventList has a pod's events in the order in which they last came. The same
// event again is counted, as an API server's clients do it.
type eventList struct{ items []v1.Event }

func (l *eventList) add(pod *v1.Pod, at time.Time, e lifecycle.RecordEvent) {
	now := metav1.NewTime(at.Truncate(time.Second))
	next := v1.Event{
		TypeMeta:            metav1.TypeMeta{APIVersion: "v1", Kind: "Event"},
		ObjectMeta:          metav1.ObjectMeta{Namespace: pod.Namespace, Name: fmt.Sprintf("%s.%x", pod.Name, at.UnixNano()), CreationTimestamp: now},
		InvolvedObject:      reference(pod, e.FieldPath),
		Reason:              e.Reason,
		Message:             e.Message,
		Type:                e.Type,
		Source:              v1.EventSource{Component: "lifepod", Host: pod.Spec.NodeName},
		ReportingController: "lifepod",
		ReportingInstance:   pod.Spec.NodeName,
		FirstTimestamp:      now,
		LastTimestamp:       now,
		Count:               1,
	}
	kept := l.items[:0:0]
	for _, old := range l.items {
		if same(&old, &next) {
			old.LastTimestamp = now
			old.Count++
			next = old
			continue
		}
		kept = append(kept, old)
	}
	kept = append(kept, next)
	l.items = kept[max(0, len(kept)-maxEvents):]
}

func same(a, b *v1.Event) bool {
	return a.Type == b.Type && a.Reason == b.Reason && a.Message == b.Message &&
		a.InvolvedObject.FieldPath == b.InvolvedObject.FieldPath
}

func reference(pod *v1.Pod, fieldPath string) v1.ObjectReference {
	return v1.ObjectReference{
		APIVersion: "v1", Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name,
		UID: pod.UID, ResourceVersion: pod.ResourceVersion, FieldPath: fieldPath,
	}
}
