package publish

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/kubernetes"
	netutils "k8s.io/utils/net"

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

// merge is what the API's status has to become: the node's, without touching
// what others own (A-STAT-5) and without taking back what is final (A-STAT-7).
// Neither argument is changed; the result shares memory with both.
func merge(pod *v1.Pod, ours *v1.PodStatus, kept transitions, now time.Time) *v1.PodStatus {
	have, m := &pod.Status, *ours
	m.ResourceClaimStatuses = have.ResourceClaimStatuses
	m.ExtendedResourceClaimStatus = have.ExtendedResourceClaimStatus
	m.NodeAllocatableResourceClaimStatuses = have.NodeAllocatableResourceClaimStatuses
	m.ObservedGeneration = max(m.ObservedGeneration, have.ObservedGeneration)
	if have.StartTime != nil { // A-CST-18
		m.StartTime = have.StartTime
	}
	if have.QOSClass != "" {
		m.QOSClass = have.QOSClass
	}
	if lifecycle.Terminal(have.Phase) { // B-FIN-2
		m.Phase, m.Reason, m.Message = have.Phase, have.Reason, have.Message
	}
	if lifecycle.Terminal(m.Phase) && len(m.PodIPs) == 0 { // B-TRM-5
		m.PodIP, m.PodIPs = have.PodIP, have.PodIPs
	}
	m.InitContainerStatuses = mergeContainers(pod, have.InitContainerStatuses, m.InitContainerStatuses)
	m.ContainerStatuses = mergeContainers(pod, have.ContainerStatuses, m.ContainerStatuses)
	m.EphemeralContainerStatuses = mergeContainers(pod, have.EphemeralContainerStatuses, m.EphemeralContainerStatuses)
	m.Conditions = mergeConditions(have, &m, kept, now)
	return &m
}

// mergeContainers keeps restart counts from going back, and the end of a container
// for which there is nothing after it: the API server would refuse the whole
// status (A-STAT-6, B-FIN-9).
func mergeContainers(pod *v1.Pod, have, ours []v1.ContainerStatus) []v1.ContainerStatus {
	merged := make([]v1.ContainerStatus, 0, len(ours))
	for _, c := range ours {
		if old := containerStatus(have, c.Name); old != nil {
			if ended := old.State.Terminated; ended != nil && c.State.Terminated == nil && !lifecycle.APIAllowsRestart(pod, c.Name, ended.ExitCode) {
				c = *old
			}
			c.RestartCount = max(c.RestartCount, old.RestartCount)
		}
		merged = append(merged, c)
	}
	return merged
}

func containerStatus(list []v1.ContainerStatus, name string) *v1.ContainerStatus {
	for i := range list {
		if list[i].Name == name {
			return &list[i]
		}
	}
	return nil
}

// normalize brings a status into the form in which the API keeps it: times in
// whole seconds (A-STAT-9), addresses in their canonical form.
func normalize(s *v1.PodStatus) {
	seconds(s.StartTime)
	for i := range s.Conditions {
		seconds(&s.Conditions[i].LastProbeTime)
		seconds(&s.Conditions[i].LastTransitionTime)
	}
	for _, list := range [][]v1.ContainerStatus{s.InitContainerStatuses, s.ContainerStatuses, s.EphemeralContainerStatuses} {
		for i := range list {
			stateSeconds(&list[i].State)
			stateSeconds(&list[i].LastTerminationState)
		}
	}
	s.HostIP, s.PodIP = canonical(s.HostIP), canonical(s.PodIP)
	for i := range s.HostIPs {
		s.HostIPs[i].IP = canonical(s.HostIPs[i].IP)
	}
	for i := range s.PodIPs {
		s.PodIPs[i].IP = canonical(s.PodIPs[i].IP)
	}
}

func stateSeconds(s *v1.ContainerState) {
	if s.Running != nil {
		seconds(&s.Running.StartedAt)
	}
	if s.Terminated != nil {
		seconds(&s.Terminated.StartedAt)
		seconds(&s.Terminated.FinishedAt)
	}
}

func seconds(t *metav1.Time) {
	if t != nil {
		*t = t.Rfc3339Copy()
	}
}

// canonical is an address as the API server wants it, e.g. fd00::1 for FD00:0::1.
func canonical(address string) string {
	if ip := netutils.ParseIPSloppy(address); ip != nil {
		return ip.String()
	}
	return address
}

// patchStatus is the strategic merge patch that turns the object's status into
// another one and gives it annotations, with the object's UID as a precondition
// (B-FIN-10); nil if it says all that already. The order of conditions means nothing.
func patchStatus(pod *v1.Pod, want *v1.PodStatus, notes map[string]string) ([]byte, error) {
	notes = missing(pod.Annotations, notes)
	if sameStatus(&pod.Status, want) && len(notes) == 0 {
		return nil, nil
	}
	before, err := json.Marshal(v1.Pod{Status: pod.Status})
	if err != nil {
		return nil, fmt.Errorf("encode the status that pod %s/%s has: %w", pod.Namespace, pod.Name, err)
	}
	after, err := json.Marshal(v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: pod.UID, Annotations: notes}, Status: *want})
	if err != nil {
		return nil, fmt.Errorf("encode the status of pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	patch, err := strategicpatch.CreateTwoWayMergePatch(before, after, v1.Pod{})
	if err != nil {
		return nil, fmt.Errorf("compare statuses of pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	if string(patch) == fmt.Sprintf(`{"metadata":{"uid":%q}}`, pod.UID) {
		return nil, nil
	}
	return patch, nil
}

func sameStatus(a, b *v1.PodStatus) bool {
	if len(a.Conditions) != len(b.Conditions) {
		return false
	}
	for i := range a.Conditions {
		other := condition(b.Conditions, a.Conditions[i].Type)
		if other == nil || !equality.Semantic.DeepEqual(a.Conditions[i], *other) {
			return false
		}
	}
	x, y := *a, *b
	x.Conditions, y.Conditions = nil, nil
	return equality.Semantic.DeepEqual(x, y)
}
