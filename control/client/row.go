package client

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/unattended"
)

// Columns are the heads of what Row returns.
var Columns = []string{"NAMESPACE", "NAME", "READY", "STATUS", "RESTARTS", "AGE", "IP"}

// Row is a pod's row, its values as kubectl has them.
func Row(pod *v1.Pod, now time.Time) []string {
	s := summarize(pod)
	ip := "<none>"
	if len(pod.Status.PodIPs) > 0 && pod.Status.PodIPs[0].IP != "" {
		ip = pod.Status.PodIPs[0].IP
	}
	return []string{
		pod.Namespace, pod.Name, fmt.Sprintf("%d/%d", s.ready, s.total), s.status,
		s.restartsText(now), age(madeAt(pod), now), ip,
	}
}

// WideColumns are the heads of what WideRow returns.
var WideColumns = append(slices.Clone(Columns), "NODE", "NOMINATED NODE", "READINESS GATES")

// WideRow is a pod's row as kubectl get pods -A -o wide has it.
func WideRow(pod *v1.Pod, now time.Time) []string {
	return append(Row(pod, now), cmp.Or(pod.Spec.NodeName, "<none>"), cmp.Or(pod.Status.NominatedNodeName, "<none>"), gates(pod))
}

// gates counts the readiness gates whose conditions are True.
func gates(pod *v1.Pod) string {
	if len(pod.Spec.ReadinessGates) == 0 {
		return "<none>"
	}
	open := 0
	for _, g := range pod.Spec.ReadinessGates {
		if isTrue(pod, g.ConditionType) {
			open++
		}
	}
	return fmt.Sprintf("%d/%d", open, len(pod.Spec.ReadinessGates))
}

// Status is kubectl's word for how a pod is.
func Status(pod *v1.Pod) string { return summarize(pod).status }

// IsReady says whether the pod's condition Ready is True.
func IsReady(pod *v1.Pod) bool { return isTrue(pod, v1.PodReady) }

// madeAt is when the pod was created; a static pod, which no API server has
// created, when it was begun.
func madeAt(pod *v1.Pod) time.Time {
	if pod.CreationTimestamp.IsZero() && pod.Status.StartTime != nil {
		return pod.Status.StartTime.Time
	}
	return pod.CreationTimestamp.Time
}

// summary is what a pod's containers add up to, for kubectl's eyes.
type summary struct {
	ready, total int
	status       string
	restarts     restarts
}

// restarts counts, and knows when the last one was needed.
type restarts struct {
	count int32
	last  time.Time
}

func (r *restarts) add(c *v1.ContainerStatus) {
	r.count += c.RestartCount
	if t := c.LastTerminationState.Terminated; t != nil && t.FinishedAt.After(r.last) {
		r.last = t.FinishedAt.Time
	}
}

func (r *restarts) ago(now time.Time) string {
	if r.count == 0 || r.last.IsZero() {
		return ""
	}
	return age(r.last, now) + " ago"
}

func (s *summary) restartsText(now time.Time) string {
	if ago := s.restarts.ago(now); ago != "" {
		return fmt.Sprintf("%d (%s)", s.restarts.count, ago)
	}
	return fmt.Sprint(s.restarts.count)
}

// Restarts is how often the containers of a pod were restarted, and when the last one was needed; empty: that is not known.
func Restarts(pod *v1.Pod, now time.Time) (count int32, last string) {
	r := summarize(pod).restarts
	return r.count, r.ago(now)
}

// age is how long ago something was, in kubectl's few letters.
func age(since, now time.Time) string {
	if since.IsZero() {
		return "<unknown>"
	}
	return duration.HumanDuration(now.Sub(since))
}

// summarize reads a pod from the first init container to the last regular one,
// as kubectl does; each step may find a better word for the status.
func summarize(pod *v1.Pod) summary {
	s := summary{total: len(pod.Spec.Containers), status: string(pod.Status.Phase)}
	if pod.Status.Reason != "" {
		s.status = pod.Status.Reason
	}
	sidecars := map[string]bool{}
	for i := range pod.Spec.InitContainers {
		if c := &pod.Spec.InitContainers[i]; lifecycle.IsSidecar(c) {
			sidecars[c.Name] = true
			s.total++
		}
	}
	initializing := s.readInit(pod, sidecars)
	if !initializing || isTrue(pod, v1.PodInitialized) {
		s.readRegular(pod)
	}
	if pod.Status.Reason == unattended.Reason {
		s.status = pod.Status.Reason // whatever its containers did last
		return s
	}
	ended := lifecycle.Terminal(pod.Status.Phase)
	if pod.DeletionTimestamp != nil && !ended {
		s.status = "Terminating"
	}
	return s
}

// readInit reads the init containers up to the one that the pod waits for; it
// reports whether there is one.
func (s *summary) readInit(pod *v1.Pod, sidecars map[string]bool) (initializing bool) {
	var ofSidecars restarts
	for i := range pod.Status.InitContainerStatuses {
		c := &pod.Status.InitContainerStatuses[i]
		s.restarts.add(c)
		if sidecars[c.Name] {
			ofSidecars.add(c)
		}
		started := sidecars[c.Name] && c.Started != nil && *c.Started
		switch {
		case c.State.Terminated != nil && c.State.Terminated.ExitCode == 0:
			continue
		case started:
			if c.Ready {
				s.ready++
			}
			continue
		case c.State.Terminated != nil:
			s.status = "Init:" + exitWord(c.State.Terminated)
		case c.State.Waiting != nil && c.State.Waiting.Reason != "" && c.State.Waiting.Reason != "PodInitializing":
			s.status = "Init:" + c.State.Waiting.Reason
		default:
			s.status = fmt.Sprintf("Init:%d/%d", i, len(pod.Spec.InitContainers))
		}
		initializing = true
		break
	}
	if !initializing || isTrue(pod, v1.PodInitialized) {
		s.restarts = ofSidecars
	}
	return initializing
}

// readRegular reads the regular containers from last to first, so that the
// first has the last word.
func (s *summary) readRegular(pod *v1.Pod) {
	running, failed := false, ""
	for i := len(pod.Status.ContainerStatuses) - 1; i >= 0; i-- {
		c := &pod.Status.ContainerStatuses[i]
		s.restarts.add(c)
		switch {
		case c.State.Waiting != nil && c.State.Waiting.Reason != "":
			s.status = c.State.Waiting.Reason
		case c.State.Terminated != nil:
			s.status = exitWord(c.State.Terminated)
			if c.State.Terminated.ExitCode != 0 {
				failed = s.status
			}
		case c.Ready && c.State.Running != nil:
			running = true
			s.ready++
		}
	}
	if s.status != "Completed" {
		return
	}
	switch {
	case running && IsReady(pod):
		s.status = "Running"
	case failed != "":
		s.status = failed
	case running:
		s.status = "NotReady"
	}
}

func exitWord(t *v1.ContainerStateTerminated) string {
	switch {
	case t.Reason != "":
		return t.Reason
	case t.Signal != 0:
		return fmt.Sprintf("Signal:%d", t.Signal)
	}
	return fmt.Sprintf("ExitCode:%d", t.ExitCode)
}

func isTrue(pod *v1.Pod, condition v1.PodConditionType) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == condition {
			return c.Status == v1.ConditionTrue
		}
	}
	return false
}

// AllColumns are the heads of what AllRow returns.
var AllColumns = []string{"NAMESPACE", "NAME", "READY", "STATUS", "RESTARTS", "AGE", "PHASE", "EXIT", "ENDED"}

// AllRow is the row of a pod that may have ended: with its phase, the exit code of the first container that failed, and when
// that was. What is not known yet is <none>.
func AllRow(pod *v1.Pod, now time.Time) []string {
	code, ended := "<none>", "<none>"
	if lifecycle.Terminal(pod.Status.Phase) {
		exit, at := endOf(pod)
		ended = age(at, now) + " ago"
		if exit != nil {
			code = strconv.Itoa(int(exit.ExitCode))
		}
	}
	return append(Row(pod, now)[:6], string(pod.Status.Phase), code, ended)
}

// AllWideColumns are the heads of what AllWideRow returns.
var AllWideColumns = slices.Concat(AllColumns, WideColumns[6:], []string{"UID"})

// AllWideRow is AllRow with all that is known.
func AllWideRow(pod *v1.Pod, now time.Time) []string {
	return slices.Concat(AllRow(pod, now), WideRow(pod, now)[6:], []string{string(pod.UID)})
}

// endOf is the first exit that was a failure, sidecars left out, or the last one; nil: no container has run. at is the time of
// the pod's last change.
func endOf(pod *v1.Pod) (exit *v1.ContainerStateTerminated, at time.Time) {
	for _, c := range pod.Status.Conditions {
		at = later(at, c.LastTransitionTime.Time)
	}
	sidecar := map[string]bool{}
	for i := range pod.Spec.InitContainers {
		sidecar[pod.Spec.InitContainers[i].Name] = lifecycle.IsSidecar(&pod.Spec.InitContainers[i])
	}
	for _, list := range [][]v1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for i := range list {
			t := list[i].State.Terminated
			if t == nil {
				continue
			}
			at = later(at, t.FinishedAt.Time)
			if !sidecar[list[i].Name] && (exit == nil || t.ExitCode != 0 && (exit.ExitCode == 0 || t.FinishedAt.Before(&exit.FinishedAt))) {
				exit = t
			}
		}
	}
	return exit, at
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
