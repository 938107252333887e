package show

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/cri"
	"github.com/lifepod/lifepod/internal/plain"
)

// recentEvents is how many events a description has.
const recentEvents = 10

// Describe writes what a person wants to know of a pod first: phase, address,
// conditions, containers, recent events.
func Describe(w io.Writer, pod *v1.Pod, events []v1.Event, now time.Time) error {
	var text strings.Builder
	about := fmt.Sprintf("uid %s, created %s ago", pod.UID, age(madeAt(pod), now))
	if qos := pod.Status.QOSClass; qos != "" { // a journal does not have it
		about += ", QoS " + string(qos)
	}
	if ips := addresses(pod); ips != "" {
		about += ", address " + ips
	}
	for _, line := range []string{pod.Namespace + "/" + pod.Name + "  " + Headline(pod), about} {
		text.WriteString(plain.Line(line) + "\n")
	}
	if pod.DeletionTimestamp != nil {
		fmt.Fprintf(&text, "stopping: its grace of %ds ends %s\n", *pod.DeletionGracePeriodSeconds, when(pod.DeletionTimestamp.Time, now))
	}
	text.WriteString("\nconditions\n")
	rows(&text, Conditions(pod, now))
	text.WriteString("\ncontainers\n")
	rows(&text, Containers(pod, now))
	if len(events) > 0 {
		text.WriteString("\nevents\n")
		rows(&text, Events(events[max(0, len(events)-recentEvents):], now))
	}
	_, err := io.WriteString(w, text.String())
	return err
}

// rows writes a table, two spaces in.
func rows(w *strings.Builder, list [][]string) {
	var table strings.Builder
	_ = Table(&table, nil, list) // into memory
	for line := range strings.Lines(table.String()) {
		w.WriteString("  " + strings.TrimRight(line, " \n") + "\n")
	}
}

// Headline is the phase, and kubectl's word for the status if that says more.
func Headline(pod *v1.Pod) string {
	line := string(pod.Status.Phase)
	if word := summarize(pod).status; word != line {
		line += ", " + word
	}
	if pod.Status.Message != "" {
		line += ": " + pod.Status.Message
	}
	return line
}

func addresses(pod *v1.Pod) string {
	var list []string
	for _, ip := range pod.Status.PodIPs {
		list = append(list, ip.IP)
	}
	return strings.Join(list, ", ")
}

func when(at, now time.Time) string {
	if at.After(now) {
		return "in " + age(now, at)
	}
	return age(at, now) + " ago"
}

// Conditions has a row for each condition of a pod: type, status, since when, why.
func Conditions(pod *v1.Pod, now time.Time) (list [][]string) {
	for _, c := range pod.Status.Conditions {
		list = append(list, []string{string(c.Type), string(c.Status), age(c.LastTransitionTime.Time, now), because(c.Reason, cri.Reason(c.Message))})
	}
	return list
}

func because(reason, message string) string {
	if reason != "" && message != "" {
		return reason + ": " + message
	}
	return reason + message
}

// Events has a row for each event: when, type, reason, of what, message.
func Events(events []v1.Event, now time.Time) (list [][]string) {
	for _, e := range events {
		last := age(e.LastTimestamp.Time, now)
		if e.Count > 1 {
			last += fmt.Sprintf(" (%d times)", e.Count)
		}
		list = append(list, []string{last, e.Type, e.Reason, e.InvolvedObject.FieldPath, firstLine(cri.Reason(e.Message))})
	}
	return list
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// Table writes rows below their heads, in columns three spaces apart. What a cell says is
// put on one line, without control characters.
func Table(w io.Writer, heads []string, rows [][]string) error {
	out := tabwriter.NewWriter(w, 0, 4, 3, ' ', 0)
	if heads != nil {
		fmt.Fprintln(out, strings.Join(heads, "\t"))
	}
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = plain.Line(cell)
		}
		fmt.Fprintln(out, strings.Join(cells, "\t"))
	}
	return out.Flush()
}

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
		return "waiting: " + because(s.Waiting.Reason, firstLine(cri.Reason(s.Waiting.Message)))
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
		text += ": " + firstLine(cri.Reason(t.Message))
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
