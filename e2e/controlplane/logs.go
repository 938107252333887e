package controlplane

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
)

// complaintBytes is how much of a line is shown.
const complaintBytes = 240

// harmless are the lines of a log that complain of nothing: of klog and of etcd.
var harmless = regexp.MustCompile(`^(I\d{4} |\{"level":"(debug|info)")`)

// ShowComplaints prints to stderr what the processes have complained of since they
// were ready: the last few warnings and errors of each, for tests that failed.
func (c *ControlPlane) ShowComplaints() {
	_, _ = io.WriteString(os.Stderr, c.complaints(5)) // there is nobody else to tell
}

func (c *ControlPlane) complaints(most int) string {
	text := &strings.Builder{}
	for _, p := range c.processes() {
		lines := complaintsIn(p.LogSinceMark(), most)
		if len(lines) > 0 {
			fmt.Fprintf(text, "%s complained of:\n  %s\n", p.Name, strings.Join(lines, "\n  "))
		}
	}
	return text.String()
}

// complaintsIn are the last lines of a log that are not harmless.
func complaintsIn(log []byte, most int) []string {
	var lines []string
	for line := range bytes.Lines(log) {
		if harmless.Match(line) {
			continue
		}
		line = bytes.TrimRight(line, "\n")
		lines = append(lines, strings.ToValidUTF8(string(line[:min(len(line), complaintBytes)]), ""))
	}
	return lines[max(0, len(lines)-most):]
}

func (c *ControlPlane) withLogs(err error) error {
	errs := []error{err}
	for _, p := range c.processes() {
		errs = append(errs, fmt.Errorf("the end of the log of %s:\n%s", p.Name, p.LastLines(15)))
	}
	return errors.Join(errs...)
}

// markLogs has ShowComplaints begin after what the logs have by now.
func (c *ControlPlane) markLogs() {
	for _, p := range c.processes() {
		p.MarkLog()
	}
}
