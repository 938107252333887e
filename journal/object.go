package journal

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

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
