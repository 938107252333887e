package journal

import (
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

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

// PodObject is the pod of a record as an API server would have it, as far as the journal has it: names, images and the last status.
func (r *Record) PodObject() *v1.Pod {
	pod := &v1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}}
	pod.Namespace, pod.Name, pod.UID, pod.Labels, pod.Spec.NodeName = r.Pod.Namespace, r.Pod.Name, types.UID(r.Pod.UID), r.Pod.Labels, r.Pod.Node
	pod.CreationTimestamp.Time = r.Pod.Created
	if pod.CreationTimestamp.IsZero() && len(r.Entries) > 0 {
		pod.CreationTimestamp.Time = r.Entries[0].At
	}
	r.status(&pod.Status)
	for _, c := range r.Pod.Containers {
		spec := v1.Container{Name: c.Name, Image: c.Image}
		if c.MemoryLimitBytes > 0 {
			spec.Resources.Limits = v1.ResourceList{v1.ResourceMemory: *resource.NewQuantity(c.MemoryLimitBytes, resource.BinarySI)}
		}
		of := &pod.Status.ContainerStatuses
		switch c.Kind {
		case "init", "sidecar":
			if c.Kind == "sidecar" {
				spec.RestartPolicy = new(v1.ContainerRestartPolicyAlways)
			}
			of, pod.Spec.InitContainers = &pod.Status.InitContainerStatuses, append(pod.Spec.InitContainers, spec)
		case "ephemeral":
			of = &pod.Status.EphemeralContainerStatuses
			pod.Spec.EphemeralContainers = append(pod.Spec.EphemeralContainers, v1.EphemeralContainer{EphemeralContainerCommon: v1.EphemeralContainerCommon{Name: c.Name, Image: c.Image}})
		default:
			pod.Spec.Containers = append(pod.Spec.Containers, spec)
		}
		if status := r.statusOf(c); status != nil {
			*of = append(*of, *status)
		}
	}
	return pod
}

// status is the last one but for the containers.
func (r *Record) status(s *v1.PodStatus) {
	if r.Now != nil {
		s.Phase = v1.PodPhase(r.Now.Phase)
	}
	conditions := map[string]int{}
	for _, e := range r.Entries {
		switch {
		case e.Kind != Milestone || e.Container != "":
		case e.Name == "phase":
			s.Phase, s.Reason, s.Message = v1.PodPhase(e.Value), e.Because, e.What
		default:
			i, known := conditions[e.Name]
			if !known {
				i = len(s.Conditions)
				conditions[e.Name], s.Conditions = i, append(s.Conditions, v1.PodCondition{Type: v1.PodConditionType(e.Name)})
			}
			c := &s.Conditions[i]
			if status := v1.ConditionStatus(e.Value); c.Status != status {
				c.Status, c.LastTransitionTime.Time = status, e.At
			}
			c.Reason, c.Message = e.Because, e.What
		}
	}
}

// statusOf is a container's last status; nil: it has none.
func (r *Record) statusOf(c Container) *v1.ContainerStatus {
	if r.Now == nil {
		return nil
	}
	i := slices.IndexFunc(r.Now.Containers, func(n ContainerNow) bool { return n.Name == c.Name })
	if i < 0 {
		return nil
	}
	n := &r.Now.Containers[i]
	s := &v1.ContainerStatus{Name: n.Name, Image: c.Image, Ready: n.Ready, Started: &n.Started, RestartCount: n.Restarts}
	switch n.State {
	case "running":
		s.State.Running = &v1.ContainerStateRunning{StartedAt: metav1.NewTime(n.Since)}
	case "terminated":
		s.State.Terminated = n.Exit.terminated()
		return s
	default:
		s.State.Waiting = &v1.ContainerStateWaiting{Reason: n.Reason, Message: n.Message}
	}
	s.LastTerminationState.Terminated = n.Exit.terminated()
	return s
}

func (e *Exit) terminated() *v1.ContainerStateTerminated {
	if e == nil {
		return nil
	}
	return &v1.ContainerStateTerminated{
		ExitCode: e.Code, Reason: e.Reason, Message: e.Message, StartedAt: metav1.NewTime(e.StartedAt), FinishedAt: metav1.NewTime(e.FinishedAt),
	}
}
