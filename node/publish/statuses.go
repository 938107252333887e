package publish

import (
	"log/slog"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/pods"
	"github.com/lifepod/lifepod/roster"
)

// EventDelay is how long a normal event waits for what makes its pod ready: about as
// long as a pod takes to start.
const EventDelay = 300 * time.Millisecond

// EventAgain is how long an event that was told before waits for equal ones, such as those of the next restart.
const EventAgain = 10 * time.Second

// Statuses writes those of pods by what the node knows of them.
type Statuses struct{ *Writer }

// NewStatuses prepares a writer of statuses. slots has room for so many requests at the same time of all
// writers that share it; nil: this one is alone, and has its usual number.
func NewStatuses(client kubernetes.Interface, slots chan struct{}, log *slog.Logger) Statuses {
	return Statuses{NewWriter(WriterConfig{Client: client, Slots: slots, Log: log})}
}

// Set says what the status of a pod is now.
func (s Statuses) Set(pod *v1.Pod, hash string, status v1.PodStatus, seen func(error)) {
	ref := refOf(pod)
	ref.Static = hash
	s.Writer.Set(ref, status, seen)
}

// Annotate says which annotations of a pod's object are the node's.
func (s Statuses) Annotate(pod *v1.Pod, annotations map[string]string) {
	s.Writer.Annotate(refOf(pod), annotations)
}

// Delete says that nothing is left of a pod that is being deleted in the API.
func (s Statuses) Delete(pod *v1.Pod, status v1.PodStatus) { s.Writer.Delete(refOf(pod), status) }

func refOf(pod *v1.Pod) Ref {
	return Ref{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID}
}

// Events records those of pods.
type Events struct {
	Statuses Statuses
	Recorder *Recorder
}

// Pod records an event about a pod, after the status that it explains (A-EVT-7).
func (s Events) Pod(pod *v1.Pod, at time.Time, e lifecycle.RecordEvent) {
	event := Event{
		Object: PodReference(pod, e.FieldPath), Type: e.Type, Reason: e.Reason, Message: e.Message, At: at, Annotations: e.Blame.Annotations(),
	}
	s.Statuses.AfterStatuses(pod.UID, e.Type == v1.EventTypeWarning, func() { s.Recorder.Record(event) })
}

// Feed lets the status writer know what the API has, before anything is done
// with it.
type Feed struct {
	Pods     *pods.Shell
	Statuses Statuses
}

// Wanted is a pod of the API.
func (f Feed) Wanted(origin roster.Source, pod *v1.Pod) {
	f.Statuses.Live(pod)
	f.Pods.Wanted(origin, pod)
}

// Unwanted is a pod that the API has no longer.
func (f Feed) Unwanted(origin roster.Source, uid types.UID) {
	if pod, found := f.Pods.PodByUID(uid); found {
		f.Statuses.Gone(pod)
	}
	f.Pods.Unwanted(origin, uid)
}

// Heard says that all pods of the API were reported.
func (f Feed) Heard(origin roster.Source) { f.Pods.Heard(origin) }

// Mirrors are told of mirror pods (package node/source).
type Mirrors interface {
	MirrorSeen(pod *v1.Pod)
	MirrorGone(pod *v1.Pod)
}

// MirrorFeed is the same for mirror pods.
type MirrorFeed struct {
	Mirrors  Mirrors
	Statuses Statuses
}

// MirrorSeen is a mirror pod as the API has it.
func (f MirrorFeed) MirrorSeen(pod *v1.Pod) {
	f.Statuses.Live(pod)
	f.Mirrors.MirrorSeen(pod)
}

// MirrorGone is a mirror pod that the API has no longer.
func (f MirrorFeed) MirrorGone(pod *v1.Pod) {
	f.Statuses.Gone(pod)
	f.Mirrors.MirrorGone(pod)
}
