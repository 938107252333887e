package journal

import (
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifepod/lifepod/lifecycle"
)

// NowOf is how the pod of a machine is, and what it waits for.
func NowOf(at time.Time, m *lifecycle.Machine) Now {
	status := m.Status()
	n := nowOfStatus(&status)
	n.At, n.Stage, n.Waits = at, m.Stage().String(), m.Waits()
	if deleted := m.Pod().DeletionTimestamp; deleted != nil {
		n.Deleting = deleted.Time
	}
	return n
}

// Held says that nothing of the pod is left on its node, and that finalizers hold its object.
func (n *Now) Held() bool {
	return n.Stage == lifecycle.Gone.String() && slices.ContainsFunc(n.Waits, func(w lifecycle.Wait) bool { return w.For == lifecycle.WaitFinalizers })
}

func nowOfStatus(status *v1.PodStatus) Now {
	n := Now{Phase: string(status.Phase)}
	for _, c := range status.Conditions {
		n.Ready = n.Ready || c.Type == v1.PodReady && c.Status == v1.ConditionTrue
	}
	for _, c := range slices.Concat(status.InitContainerStatuses, status.ContainerStatuses, status.EphemeralContainerStatuses) {
		n.Containers = append(n.Containers, nowOf(&c))
	}
	return n
}

// What a pod waits for according to its object alone.
const (
	// WaitScheduling is for a node; On are the scheduling gates that others must remove first.
	WaitScheduling lifecycle.WaitFor = "scheduling"
	// WaitNode is for On, its node, which does not answer.
	WaitNode lifecycle.WaitFor = "node"
)

// OfObject is what the API server's object says of a pod whose node tells nothing more.
// unanswered is why the node could not be asked; nil: it knows nothing, or there is none.
func OfObject(pod *v1.Pod, unanswered error) *Record {
	now := nowOfStatus(&pod.Status)
	now.Stage = lifecycle.Syncing.String()
	if lifecycle.Terminal(pod.Status.Phase) {
		now.Stage = lifecycle.Terminated.String()
	}
	if pod.DeletionTimestamp != nil {
		now.Deleting, now.Stage = pod.DeletionTimestamp.Time, lifecycle.Terminating.String()
	}
	if unanswered != nil {
		now.Waits = append(now.Waits, lifecycle.Wait{Subject: "pod", For: WaitNode, On: pod.Spec.NodeName, Because: unanswered.Error()})
	}
	scheduling := lifecycle.Wait{Subject: "pod", For: WaitScheduling, Since: pod.CreationTimestamp.Time}
	for _, g := range pod.Spec.SchedulingGates {
		scheduling.On = strings.TrimPrefix(scheduling.On+", "+g.Name, ", ")
	}
	for _, c := range pod.Status.Conditions {
		now.At = slices.MaxFunc([]time.Time{now.At, c.LastTransitionTime.Time}, time.Time.Compare)
		if c.Type == v1.PodScheduled && c.Status == v1.ConditionFalse {
			scheduling.Since, scheduling.Because = c.LastTransitionTime.Time, c.Message
		}
	}
	if pod.Spec.NodeName == "" && !lifecycle.Terminal(pod.Status.Phase) {
		now.Waits = append(now.Waits, scheduling)
	}
	return &Record{Pod: PodOf(pod), Now: &now, Object: true}
}

// nowOf is how a container is.
func nowOf(c *v1.ContainerStatus) ContainerNow {
	n := ContainerNow{Name: c.Name, State: "waiting", Ready: c.Ready, Started: c.Started != nil && *c.Started, Restarts: c.RestartCount}
	switch {
	case c.State.Waiting != nil:
		n.Reason, n.Message = c.State.Waiting.Reason, c.State.Waiting.Message
	case c.State.Running != nil:
		n.State, n.Since = "running", c.State.Running.StartedAt.Time
	case c.State.Terminated != nil:
		n.State, n.Since, n.Exit = "terminated", c.State.Terminated.FinishedAt.Time, exitOf(c.State.Terminated)
		n.Reason = n.Exit.Reason
	}
	if last := c.LastTerminationState.Terminated; last != nil && n.Exit == nil {
		n.Exit = exitOf(last)
	}
	return n
}

func exitOf(t *v1.ContainerStateTerminated) *Exit {
	return &Exit{Code: t.ExitCode, Reason: t.Reason, Message: t.Message, StartedAt: t.StartedAt.Time, FinishedAt: t.FinishedAt.Time}
}

// traceParent is the annotation of the trace that a pod's life is part of.
const traceParent = "lifepod.dev/traceparent"

// PodOf is which pod a journal is of.
func PodOf(pod *v1.Pod) Pod {
	p := Pod{
		UID: string(pod.UID), Namespace: pod.Namespace, Name: pod.Name, Node: pod.Spec.NodeName, Labels: pod.Labels, Created: pod.CreationTimestamp.Time,
		TraceParent: pod.Annotations[traceParent],
	}
	if owner := metav1.GetControllerOf(pod); owner != nil {
		p.Owner = owner.Kind + "/" + owner.Name
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == v1.PodScheduled && c.Status == v1.ConditionTrue {
			p.Scheduled = c.LastTransitionTime.Time
		}
	}
	for _, c := range pod.Spec.InitContainers {
		kind := "init"
		if lifecycle.IsSidecar(&c) {
			kind = "sidecar"
		}
		p.Containers = append(p.Containers, containerIn(c.Name, kind, c.Image, &c.Resources))
	}
	for _, c := range pod.Spec.Containers {
		p.Containers = append(p.Containers, containerIn(c.Name, "container", c.Image, &c.Resources))
	}
	for _, c := range pod.Spec.EphemeralContainers {
		p.Containers = append(p.Containers, containerIn(c.Name, "ephemeral", c.Image, &c.Resources))
	}
	return p
}

func containerIn(name, kind, image string, has *v1.ResourceRequirements) Container {
	return Container{Name: name, Kind: kind, Image: image, MemoryLimitBytes: has.Limits.Memory().Value()}
}
