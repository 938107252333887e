package e2e

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/assert"
)

// object is a line of -o json.
type object struct {
	Version int           `json:"version"`
	Type    string        `json:"type"`
	UID     string        `json:"uid"`
	Code    *int          `json:"exitCode"`
	Subject string        `json:"subject"`
	What    string        `json:"what"`
	Outcome string        `json:"outcome"`
	Because string        `json:"because"`
	Rule    string        `json:"rule"`
	Reason  string        `json:"reason"`
	Message string        `json:"message"`
	Stream  string        `json:"stream"`
	Text    *string       `json:"text"`
	Status  *v1.PodStatus `json:"status"`
}

// story is everything that -o json reported.
type story []object

func readStory(t *testing.T, stdout string) story {
	t.Helper()
	var s story
	for line := range strings.Lines(stdout) {
		var o object
		err := json.Unmarshal([]byte(line), &o)
		assert.Require(t, err == nil, "line %q: %v", line, err)
		s = append(s, o)
	}
	return s
}

// runStory runs a pod with -o json and checks the exit code.
func (r *root) runStory(t *testing.T, wantCode int, manifest string, args ...string) story {
	t.Helper()
	got := r.run(t, manifest, append([]string{"-o", "json"}, args...)...)
	assert.Require(t, got.code == wantCode, "exit code %d, want %d\n%s\n%s", got.code, wantCode, tail(got.stdout), got.stderr)
	s := readStory(t, got.stdout)
	for _, o := range s {
		assert.True(t, o.Version == 1 && o.UID != "", "no version, or no pod: %+v", o)
	}
	last := s[len(s)-1]
	assert.True(t, last.Type == "end" && *last.Code == wantCode && last.Reason != "", "the last line is %+v, want the exit code and why", last)
	return s
}

func (s story) statuses() []v1.PodStatus {
	var all []v1.PodStatus
	for _, o := range s {
		if o.Status != nil {
			all = append(all, *o.Status)
		}
	}
	return all
}

// last is the pod's last status.
func (s story) last(t *testing.T) v1.PodStatus {
	t.Helper()
	all := s.statuses()
	assert.Require(t, len(all) != 0, "no status in the output")
	return all[len(all)-1]
}

// output is what a container wrote, both streams.
func (s story) output(container string) string {
	var text strings.Builder
	for _, o := range s {
		if o.Type == "output" && o.Subject == container {
			text.WriteString(*o.Text)
		}
	}
	return text.String()
}

// phases are the pod's phases in order, each once.
func (s story) phases() []v1.PodPhase {
	var all []v1.PodPhase
	for _, status := range s.statuses() {
		all = append(all, status.Phase)
	}
	return slices.Compact(all)
}

// reasons are the reasons of the Kubernetes events about a container.
func (s story) reasons(container string) []string {
	var all []string
	for _, o := range s {
		if o.Type == "event" && strings.HasSuffix(o.Subject, "{"+container+"}") {
			all = append(all, o.Reason)
		}
	}
	return all
}

func containerNamed(t *testing.T, status v1.PodStatus, name string) v1.ContainerStatus {
	t.Helper()
	for _, c := range slices.Concat(status.InitContainerStatuses, status.ContainerStatuses) {
		if c.Name == name {
			return c
		}
	}
	t.Fatalf("no container %s in the status", name)
	return v1.ContainerStatus{}
}

var (
	elapsed  = regexp.MustCompile(`(?m)^\+\d+\.\d{3}s `)
	address  = regexp.MustCompile(`\b10(\.\d{1,3}){3}\b`)
	uid      = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
	duration = regexp.MustCompile(`\bin (\d+(\.\d+)?(ms|s))`)
	// lateLine is what a machine that is very busy adds.
	lateLine = regexp.MustCompile(`(?m)^.*\(not counted: this machine was .*\n`)
)

// normal is the text without what differs from run to run.
func normal(text string) string {
	text = lateLine.ReplaceAllString(text, "")
	text = elapsed.ReplaceAllString(text, "+ ")
	text = uid.ReplaceAllString(text, "UID")
	text = address.ReplaceAllString(text, "ADDRESS")
	return duration.ReplaceAllString(text, "in TIME")
}

// checkLines compares what was printed, normalised, with what is wanted.
func checkLines(t *testing.T, what, got, want string) {
	t.Helper()
	assert.Deep(t, what, strings.Split(strings.TrimSpace(want), "\n"), strings.Split(strings.TrimSpace(normal(got)), "\n"))
}

// want compares a command's exit code and what it printed.
func (got result) want(t *testing.T, code int, stdout string) {
	t.Helper()
	assert.True(t, got.code == code && got.stdout == stdout,
		"exit code %d, want %d: stdout %q, want %q\n%s", got.code, code, tail(got.stdout), tail(stdout), got.stderr)
}

// wantCode compares a command's exit code.
func (got result) wantCode(t *testing.T, code int) {
	t.Helper()
	assert.True(t, got.code == code, "exit code %d, want %d: %s%s", got.code, code, tail(got.stdout), got.stderr)
}

// check compares a command's end with what is wanted; stderr is normalised.
func (got result) check(t *testing.T, code int, stdout, stderr string) {
	t.Helper()
	assert.Deep(t, "exit code", code, got.code)
	assert.Deep(t, "stdout", stdout, got.stdout)
	checkLines(t, "stderr", got.stderr, stderr)
}
