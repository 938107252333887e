package client

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
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
	columns, coloured := plain.Columns(w), plain.Colours(w)
	for i, line := range []string{pod.Namespace + "/" + pod.Name + "  " + Headline(pod), about} {
		if line = plain.Line(line); columns > 0 && plain.Width(line) > columns {
			line = plain.Wrap(line, columns, "  ")
		}
		text.WriteString(plain.Strong.Paint(coloured && i == 0, line) + "\n")
	}
	if pod.DeletionTimestamp != nil {
		fmt.Fprintf(&text, "stopping: its grace of %ds ends %s\n", *pod.DeletionGracePeriodSeconds, when(pod.DeletionTimestamp.Time, now))
	}
	part := func(title string, rows [][]string) {
		text.WriteString("\n" + plain.Strong.Paint(coloured, title) + "\n")
		for _, line := range lines(&plain.Table{Columns: max(columns-2, 0)}, rows, coloured) { // no columns: no terminal
			text.WriteString("  " + line + "\n")
		}
	}
	part("conditions", Conditions(pod, now))
	part("containers", Containers(pod, now))
	if len(events) > 0 {
		part("events", Events(events[max(0, len(events)-recentEvents):], now))
	}
	_, err := io.WriteString(w, text.String())
	return err
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

// Events has a row for each event: when, type, reason, of which container, message.
func Events(events []v1.Event, now time.Time) (list [][]string) {
	for _, e := range events {
		last := age(e.LastTimestamp.Time, now)
		if e.Count > 1 {
			last += fmt.Sprintf(" (%d times)", e.Count)
		}
		_, container, _ := strings.Cut(strings.TrimSuffix(e.InvolvedObject.FieldPath, "}"), "{")
		list = append(list, []string{last, e.Type, e.Reason, container, firstLine(e.Message)})
	}
	return list
}

// ofPod is how the kubelet's messages name the pod, which is known here.
var ofPod = regexp.MustCompile(`( in)? pod[= ][a-z0-9.-]+_[a-z0-9-]+\([0-9a-z-]+\)`)

// firstLine is that of a message.
func firstLine(message string) string {
	line, _, _ := strings.Cut(cri.Reason(message), "\n")
	return ofPod.ReplaceAllString(line, "")
}

// Table writes rows below their heads, in columns three spaces apart, which wrap where they are wider than the terminal.
func Table(w io.Writer, heads []string, rows [][]string) error {
	return TableLike(w, &plain.Table{}, append([][]string{heads}, rows...))
}

// TableLike writes rows in the columns of those that were written before.
func TableLike(w io.Writer, table *plain.Table, rows [][]string) error {
	table.Columns = plain.Columns(w)
	if all := lines(table, rows, plain.Colours(w)); len(all) > 0 {
		_, err := fmt.Fprintln(w, strings.Join(all, "\n"))
		return err
	}
	return nil
}

// lines has what a cell says on one line, without control characters, and words for how something is in colours.
func lines(table *plain.Table, rows [][]string, coloured bool) []string {
	table.Gap = "   "
	for r, row := range rows {
		rows[r] = slices.Clone(row)
		for i, cell := range row {
			rows[r][i] = toneOf(cell).Paint(coloured, plain.Line(cell))
		}
	}
	return table.Lines(rows)
}

// toneOf is the tone of kubectl's words for how a pod, a container or an event is; others have none.
func toneOf(word string) plain.Tone {
	switch word {
	case "Running", "Completed", "Succeeded", "ready", "done":
		return plain.Good
	case "Pending", "ContainerCreating", "PodInitializing", "Terminating", "NotReady", "Unattended", "not ready", "not started", "False":
		return plain.Busy
	case "Error", "Failed", "OOMKilled", "Evicted", "DeadlineExceeded", "StartError", "Warning":
		return plain.Bad
	}
	if !strings.Contains(word, " ") && (strings.HasSuffix(word, "BackOff") || strings.Contains(word, "Err") && strings.HasSuffix(word, "Pull") || strings.HasSuffix(word, "Error")) {
		return plain.Bad
	}
	return ""
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
