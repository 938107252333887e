package sim

import (
	"fmt"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/sim/scenario"
)

// A Pod and a machine outside lead the life that Run simulates: the same status at the same
// times, also when time comes in large steps.
func TestPodLivesAsInRun(t *testing.T) {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default", UID: "1"}}
	pod.Spec = v1.PodSpec{
		RestartPolicy: v1.RestartPolicyOnFailure, TerminationGracePeriodSeconds: new(int64(30)), DNSPolicy: v1.DNSDefault, SecurityContext: &v1.PodSecurityContext{},
		Containers: []v1.Container{{Name: "main", Image: "lifepod.dev/toolbox:1", ImagePullPolicy: v1.PullIfNotPresent}},
	}
	code := int32(3)
	says := &scenario.Scenario{Containers: map[string]scenario.Container{"main": {Runs: []scenario.Run{
		{Run: scenario.Fixed(time.Second), Exit: &code}, {Run: scenario.Fixed(2 * time.Second)},
	}}}}
	var want []string
	Run(pod, Options{Scenario: says, Seed: 1, Sink: statuses{&want}})

	began := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	var facts []lifecycle.Fact
	p := NewPod(pod, PodOptions{Scenario: says, Seed: 1, Began: began, Tell: func(f lifecycle.Fact) { facts = append(facts, f) }})
	machine := lifecycle.New(pod, optionsOf())
	var got []string
	now, wake := began, time.Time{}
	step := func(f lifecycle.Fact) {
		for _, e := range machine.Step(lifecycle.Event{At: now, Fact: f}) {
			switch e := e.(type) {
			case lifecycle.Publish:
				got = append(got, line(now.Sub(began), e.Status))
				if e.ID != 0 {
					facts = append(facts, lifecycle.AnswerTo(e, nil))
				}
			case lifecycle.WakeAt:
				wake = e.At
			case lifecycle.Cancel:
				p.Cancel(now, e.ID)
			case lifecycle.RecordEvent, lifecycle.Tell, lifecycle.CountEviction, lifecycle.DeleteObject, lifecycle.Finish:
			default:
				p.Begin(now, e)
			}
		}
	}
	step(lifecycle.Accepted{})
	for machine.Stage() != lifecycle.Gone {
		for len(facts) > 0 {
			next := facts[0]
			facts = facts[1:]
			step(next)
		}
		if machine.Stage() == lifecycle.Gone {
			break
		}
		next, will := p.Next()
		if !wake.IsZero() && (!will || wake.Before(next)) {
			now, wake = wake, time.Time{}
			step(lifecycle.Woke{})
			continue
		}
		assert.Require(t, will, "nothing more happens; statuses:\n%s", strings.Join(got, "\n"))
		now = next
		p.Happen(now)
	}
	assert.True(t, strings.Join(got, "\n") == strings.Join(want, "\n"), "got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
}

// statuses notes each status as a line.
type statuses struct{ to *[]string }

func (s statuses) Status(at time.Time, status v1.PodStatus) {
	*s.to = append(*s.to, line(at.Sub(Began), status))
}
func (statuses) Event(time.Time, lifecycle.RecordEvent)             {}
func (statuses) Report(time.Time, lifecycle.Report)                 {}
func (statuses) Output(_ time.Time, container, stream, text string) {}
func (statuses) Happened(time.Time, lifecycle.Words)                {}
func (statuses) ClockSet(time.Duration)                             {}

func line(at time.Duration, s v1.PodStatus) string {
	restarts := int32(0)
	for _, c := range s.ContainerStatuses {
		restarts += c.RestartCount
	}
	return fmt.Sprintf("%v %s restarts=%d", at, s.Phase, restarts)
}

// What a pod has no part in is refused, each with its place.
func TestCheckPod(t *testing.T) {
	err := scenario.Errors(&scenario.Scenario{
		For: scenario.Fixed(time.Hour), Refuse: &scenario.Refusal{Reason: "OutOfcpu"}, Assert: []string{"never Failed"},
		Events: []scenario.Event{
			{Evict: &scenario.Evict{}}, {Delete: &scenario.Delete{}}, {Kill: &scenario.Kill{}}, {Reboot: &scenario.Down{}}, {AgentCrash: &scenario.Down{}},
			{SetClock: &scenario.Change{}}, {ObjectsChanged: &scenario.Objects{}}, {AddContainer: &scenario.Added{}}, {SandboxExit: &scenario.Nothing{}},
		},
	}, CheckPod)
	assert.Require(t, err != nil, "nothing is refused")
	for _, want := range []string{
		"refuse: ", "for: ", "assert: ", "events[1].delete: ", "events[2].kill: ", "events[3].reboot: ", "events[4].agentCrash: ",
		"events[5].setClock: ", "events[6].objectsChanged: ", "events[7].addContainer: ",
	} {
		assert.True(t, strings.Contains(err.Error(), want), "%q is not refused: %v", want, err)
	}
	n := strings.Count(err.Error(), "\n") + 1
	assert.True(t, n == 10, "%d things are refused, want 10: %v", n, err)
}
