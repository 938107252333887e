package show

import (
	"fmt"
	"io"
	"regexp"
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
