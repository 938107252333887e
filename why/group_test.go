package why

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/journal"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/lifecycle/group"
)

// member is the machine of a group's member with its journal, on a runtime that does at once what is asked for.
type member struct {
	*journal.Record
	m        *lifecycle.Machine
	recorder *journal.Recorder
	runs     string        // the container's ID; empty: none
	made     int           // containers
	endsIn   time.Duration // how long a container takes to stop
}

// moment is that long after noon.
func moment(after time.Duration) time.Time {
	return time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC).Add(after)
}

func newMember(name, node string) *member {
	never := v1.ContainerRestartPolicyNever
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: name, UID: types.UID(name),
			Annotations: map[string]string{lifecycle.GroupAnnotation: lifecycle.LedByJobSet}, Labels: map[string]string{lifecycle.JobSetLabel: "train"},
		},
		Spec: v1.PodSpec{RestartPolicy: v1.RestartPolicyNever, NodeName: node, Containers: []v1.Container{{
			Name: "worker", Image: "img:1", RestartPolicy: &never,
			RestartPolicyRules: []v1.ContainerRestartRule{{
				Action:    v1.ContainerRestartRuleActionRestartAllContainers,
				ExitCodes: &v1.ContainerRestartRuleOnExitCodes{Operator: v1.ContainerRestartRuleOnExitCodesOpNotIn, Values: []int32{0}},
			}},
		}}},
	}
	m := &member{m: lifecycle.New(pod, lifecycle.DefaultOptions()), recorder: journal.NewRecorder(nil)}
	m.Record = &journal.Record{Pod: journal.PodOf(pod), Living: true}
	m.feed(0, lifecycle.Accepted{})
	return m
}

// feed gives the machine a fact, and then the answers to all that it asks for.
func (m *member) feed(after time.Duration, f lifecycle.Fact) {
	effects := m.m.Step(lifecycle.Event{At: moment(after), Fact: f})
	m.Entries = append(m.Entries, m.recorder.Step(moment(after), f, effects)...)
	now := journal.NowOf(moment(after), m.m)
	m.Now = &now
	for _, e := range effects {
		if e.EffectID() != 0 {
			m.answer(after, e)
		}
	}
}

func (m *member) answer(after time.Duration, e lifecycle.Effect) {
	done := lifecycle.Result{ID: e.EffectID()}
	switch e := e.(type) {
	case lifecycle.CreateSandbox:
		m.feed(after, lifecycle.SandboxCreated{Result: done, SandboxID: "sandbox", IPs: []string{"10.0.0.2"}})
	case lifecycle.InspectImage:
		m.feed(after, lifecycle.ImageInspected{Result: done, Image: &lifecycle.ImageInfo{ID: "img"}})
	case lifecycle.CreateContainer:
		m.made++
		m.feed(after, lifecycle.ContainerCreated{Result: done, ContainerID: fmt.Sprintf("worker-%d", m.made)})
	case lifecycle.StartContainer:
		m.runs = e.ContainerID
		m.feed(after, lifecycle.ContainerStarted{Result: done})
	case lifecycle.StopContainer, lifecycle.RemoveContainer:
		if m.runs != "" {
			m.exits(after+m.endsIn, 137)
			after += m.endsIn
		}
		m.feed(after, lifecycle.AnswerTo(e, nil))
	default:
		m.feed(after, lifecycle.AnswerTo(e, nil))
	}
}

func (m *member) exits(after time.Duration, code int32) {
	id := m.runs
	m.runs = ""
	m.feed(after, lifecycle.ContainerExited{ContainerID: id, ExitCode: code, Reason: "Error", FinishedAt: moment(after)})
}

// hears tells a member how far its group is; -1 is nothing.
func (m *member) hears(after time.Duration, current, previous int32) {
	attempts := group.Attempts{}
	if current >= 0 {
		attempts.Current = &current
	}
	if previous >= 0 {
		attempts.Previous = &previous
	}
	m.feed(after, lifecycle.GroupSeen{Attempts: attempts})
}

func explained(t *testing.T, after time.Duration, members ...*member) string {
	t.Helper()
	var records []*journal.Record
	for _, m := range members {
		records = append(records, m.Record)
	}
	var b strings.Builder
	if err := (Layout{Width: 100}).WriteGroup(&b, ExplainGroup("default/train", records, moment(after))); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestExplainGroup takes three members through a round, and has it told at each step.
func TestExplainGroup(t *testing.T) {
	a, b, c := newMember("train-a", "node-1"), newMember("train-b", "node-1"), newMember("train-c", "node-2")
	all := []*member{a, b, c}
	c.endsIn = 900 * time.Millisecond
	tell := func(after time.Duration, want string) {
		t.Helper()
		if diff := cmp.Diff(strings.TrimLeft(want, "\n"), explained(t, after, all...)); diff != "" {
			t.Errorf("%s after noon (-want +got):\n%s", after, diff)
		}
	}
	tell(0, `
The group default/train has 3 members, and none takes part in an attempt.
- train-a on node-1, train-b on node-1 and train-c on node-2: at the barrier: nothing is known of
  its group yet.
`)
	for i, m := range all {
		m.hears(time.Duration(i+1)*time.Second, -1, -1)
	}
	for i, m := range all {
		m.hears(time.Duration(i+4)*time.Second, 0, -1)
	}
	tell(10*time.Second, `
The group default/train has 3 members; attempt 0 began at 12:00:01, and all ran after 5.00 s.
- No member that is still there failed for it.
- 2.00 s until all took part in it; the last was train-c on node-2.
- 0 ms until nothing of the attempt before ran any more.
- 1.00 s until the barrier was lifted: statuses written, counted, and told; the first to hear was
  train-a on node-1.
- 2.00 s until all had heard of it; the last was train-c on node-2.
- 0 ms until all ran; the last was train-c on node-2.
`)

	b.exits(time.Minute, 88)
	a.hears(time.Minute+200*time.Millisecond, 0, 0)
	tell(time.Minute+time.Second, `
The group default/train has 3 members; attempt 1 began at 12:01:00, and 0 of 3 run in it.
- It began with train-b on node-1: worker exited 88.
- train-a on node-1 and train-b on node-1: at the barrier: attempt 1 begins when all members of the
  group take part in it.
- train-c on node-2: still in attempt 0, is Running and Ready since 12:00:06.
`)
	c.hears(time.Minute+300*time.Millisecond, 0, 0)
	for i, m := range all {
		m.hears(time.Minute+1500*time.Millisecond+time.Duration(i)*10*time.Millisecond, 1, 0)
	}
	tell(2*time.Minute, `
The group default/train has 3 members; attempt 1 began at 12:01:00, and all ran after 1.52 s.
- It began with train-b on node-1: worker exited 88.
- 300 ms until all took part in it; the last was train-c on node-2.
- 900 ms until nothing of the attempt before ran any more; the last was worker of train-c on node-2.
- 300 ms until the barrier was lifted: statuses written, counted, and told; the first to hear was
  train-a on node-1.
- 20 ms until all had heard of it; the last was train-c on node-2.
- 0 ms until all ran; the last was train-c on node-2.
`)

	c.feed(3*time.Minute, lifecycle.StopRequested{})
	if over := c.Now.Stage; !slices.Contains([]string{"terminating", "terminated", "gone"}, over) {
		t.Fatalf("the stopped member is %s", over)
	}
}

// TestExplainGroupOfNobody: there is nothing to tell of members that are gone.
func TestExplainGroupOfNobody(t *testing.T) {
	a := newMember("train-a", "node-1")
	a.Now.Stage = "gone"
	if g := ExplainGroup("default/train", []*journal.Record{a.Record}, moment(0)); g != nil {
		t.Errorf("told of a group without members: %+v", g)
	}
}
