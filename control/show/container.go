package show

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
)

// Containers has a row for each container in the order in which they start, and
// one more for what the instance before ended with.
func Containers(pod *v1.Pod, now time.Time) (list [][]string) {
	kinds := map[string]string{}
	for _, c := range pod.Spec.InitContainers {
		kinds[c.Name] = "init"
		if c.RestartPolicy != nil && *c.RestartPolicy == v1.ContainerRestartPolicyAlways {
			kinds[c.Name] = "sidecar"
		}
	}
	for _, c := range pod.Spec.EphemeralContainers {
		kinds[c.Name] = "ephemeral"
	}
	for _, statuses := range [][]v1.ContainerStatus{
		pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses, pod.Status.EphemeralContainerStatuses,
	} {
		for i := range statuses {
			c := &statuses[i]
			list = append(list, []string{c.Name, kinds[c.Name], readyText(c), restartText(c.RestartCount), stateText(&c.State, now)})
			if last := c.LastTerminationState.Terminated; last != nil {
				list = append(list, []string{"", "", "", "", "last state: " + exitText(last, now)})
			}
		}
	}
	return list
}

func stateText(s *v1.ContainerState, now time.Time) string {
	switch {
	case s.Running != nil:
		return "running for " + age(s.Running.StartedAt.Time, now)
	case s.Terminated != nil:
		return exitText(s.Terminated, now)
	case s.Waiting != nil:
		return "waiting: " + because(s.Waiting.Reason, firstLine(s.Waiting.Message))
	}
	return "waiting"
}

func exitText(t *v1.ContainerStateTerminated, now time.Time) string {
	text := fmt.Sprintf("exited %d", t.ExitCode)
	if t.Reason != "" {
		text += " " + t.Reason
	}
	if !t.FinishedAt.IsZero() {
		text += ", " + age(t.FinishedAt.Time, now) + " ago"
	}
	if t.Message != "" {
		text += ": " + firstLine(t.Message)
	}
	return text
}

func readyText(c *v1.ContainerStatus) string {
	switch {
	case c.Ready && c.State.Terminated != nil:
		return "done"
	case c.Ready:
		return "ready"
	case c.State.Running != nil && (c.Started == nil || !*c.Started):
		return "not started"
	}
	return "not ready"
}

func restartText(n int32) string {
	switch n {
	case 0:
		return "0 restarts"
	case 1:
		return "1 restart"
	}
	return fmt.Sprintf("%d restarts", n)
}
