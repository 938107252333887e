package timelinetest

import (
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/journal"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/lifecycle/group"
)

// Member is the machine of a group's member with its journal, on a runtime that does at once what is asked for.
type Member struct {
	*journal.Record
	EndsIn time.Duration // how long a container takes to stop

	m        *lifecycle.Machine
	recorder *journal.Recorder
	runtime  lifecycle.PretendedRuntime
}

// Moment is that long after noon.
func Moment(after time.Duration) time.Time {
	return time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC).Add(after)
}

// NewMember is a pod of the JobSet train with one container, worker, on a node. It is accepted at noon.
func NewMember(name, node string) *Member {
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
	m := &Member{m: lifecycle.New(pod, lifecycle.DefaultOptions()), recorder: journal.NewRecorder(nil)}
	m.runtime.IPs = []string{"10.0.0.2"}
	m.Record = &journal.Record{Pod: journal.PodOf(pod), Living: true}
	m.Feed(0, lifecycle.Accepted{})
	return m
}

// Feed gives the machine a fact, and then the answers to all that it asks for.
func (m *Member) Feed(after time.Duration, f lifecycle.Fact) {
	effects := m.m.Step(lifecycle.Event{At: Moment(after), Fact: f})
	m.Entries = append(m.Entries, m.recorder.Step(Moment(after), f, effects)...)
	now := journal.NowOf(Moment(after), m.m)
	m.Now = &now
	for _, e := range effects {
		if e.EffectID() != 0 {
			m.answer(after, e)
		}
	}
}

func (m *Member) answer(after time.Duration, e lifecycle.Effect) {
	switch e := e.(type) {
	case lifecycle.InspectImage:
		m.Feed(after, lifecycle.ImageInspected{Result: lifecycle.Result{ID: e.ID}, Image: &lifecycle.ImageInfo{ID: "img"}})
		return
	case lifecycle.StopContainer, lifecycle.RemoveContainer:
		if m.Exits(after+m.EndsIn, 137) {
			after += m.EndsIn
		}
	}
	m.Feed(after, m.runtime.Do(e, Moment(after)))
}

// Exits ends the container; false: none runs.
func (m *Member) Exits(after time.Duration, code int32) bool {
	for _, c := range m.runtime.Containers {
		if c.State == lifecycle.StateRunning {
			m.runtime.End(c, lifecycle.ContainerExited{ExitCode: code, Reason: "Error"}, Moment(after))
			m.Feed(after, *c.Exit)
			return true
		}
	}
	return false
}

// Hears tells a member how far its group is; -1 is nothing.
func (m *Member) Hears(after time.Duration, current, previous int32) {
	attempts := group.Attempts{}
	if current >= 0 {
		attempts.Current = &current
	}
	if previous >= 0 {
		attempts.Previous = &previous
	}
	m.Feed(after, lifecycle.GroupSeen{Attempts: attempts})
}

// Train are the members of a group after two attempts, and a minute later: the second member fails a minute after noon, the
// third one takes long to end, and the first one has succeeded in the end.
func Train() (records []*journal.Record, now time.Time) {
	members := []*Member{NewMember("train-a", "node-1"), NewMember("train-b", "node-1"), NewMember("train-c", "node-2")}
	members[2].EndsIn = 900 * time.Millisecond
	for i, m := range members {
		m.Hears(time.Duration(i+1)*time.Second, -1, -1)
	}
	for i, m := range members {
		m.Hears(time.Duration(i+4)*time.Second, 0, -1)
	}
	members[1].Exits(time.Minute, 88)
	members[0].Hears(time.Minute+200*time.Millisecond, 0, 0)
	members[2].Hears(time.Minute+300*time.Millisecond, 0, 0)
	for i, m := range members {
		m.Hears(time.Minute+1500*time.Millisecond+time.Duration(i)*10*time.Millisecond, 1, 0)
	}
	members[0].Exits(62*time.Second, 0)
	for _, m := range members {
		records = append(records, m.Record)
	}
	return records, Moment(63 * time.Second)
}
