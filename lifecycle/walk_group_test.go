package lifecycle

import (
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/lifepod/lifepod/lifecycle/group"
)

// randomGroup lets some pods take part in a group.
func randomGroup(rt *rapid.T, pod *v1.Pod) {
	if rapid.IntRange(0, 3).Draw(rt, "is in a group") == 3 {
		pod.Labels = map[string]string{JobSetLabel: "train"}
		pod.Annotations = map[string]string{GroupAnnotation: LedByJobSet}
		if rapid.Bool().Draw(rt, "has no leader") {
			pod.Labels = map[string]string{GroupNameLabel: "train"}
			pod.Annotations = map[string]string{GroupAnnotation: LedByMembers, GroupSizeAnnotation: "4"}
		}
	}
}

// keepsGroup gives a later object of a pod what the first one says of its group: the walk edits
// labels and annotations as it likes, and what a pod asked for at its start counts.
func keepsGroup(pod, first *v1.Pod) {
	if first.Annotations[GroupAnnotation] == "" {
		return
	}
	pod.Labels, pod.Annotations = maps.Clone(pod.Labels), maps.Clone(pod.Annotations)
	if pod.Labels == nil {
		pod.Labels = map[string]string{}
	}
	if pod.Annotations == nil {
		pod.Annotations = map[string]string{}
	}
	for _, key := range []string{JobSetLabel, GroupNameLabel} {
		copyKey(pod.Labels, first.Labels, key)
	}
	for _, key := range []string{GroupAnnotation, GroupSizeAnnotation} {
		copyKey(pod.Annotations, first.Annotations, key)
	}
}

func copyKey(to, from map[string]string, key string) {
	if value, has := from[key]; has {
		to[key] = value
	}
}

// hearsOfGroup tells the pod something of its group: most often something that can be true.
func (w *walk) hearsOfGroup() {
	attempt := w.m.group.Attempt
	switch w.draw(9, "of the group") {
	case 0:
		w.feed(GroupSeen{Unknown: Because{Text: "JobSet default/train is forbidden"}})
	case 1:
		w.feed(GroupSeen{Alone: Because{Text: "JobSet default/train has another strategy"}})
	case 2: // something old
		w.feed(GroupSeen{Attempts: group.Attempts{Current: new(max(0, attempt-1)), Previous: new(max(0, attempt-2))}})
	case 3, 4:
		w.feed(GroupSeen{Attempts: group.Attempts{Previous: new(attempt)}})
	case 5: // it goes on waiting
		w.feed(GroupSeen{Size: group.Size{Members: 4, Podless: 1, Jobs: []group.Jobs{{Name: "workers", Podless: 1, Of: 4}}}})
	case 6: // it has no leader
		w.feed(GroupSeen{Size: group.Size{Members: 4, Behind: []group.Behind{{Name: "train-3"}}}, Attempts: group.Attempts{Current: w.m.GroupAttempt(), MembersHash: "e55"}})
	default:
		w.feed(GroupSeen{Attempts: group.Attempts{Current: w.m.GroupAttempt()}})
	}
}

// groupGoesOn lets the other members come to the barrier that the pod waits at.
func (w *walk) groupGoesOn() bool {
	m := w.m
	if m.Stage() != Syncing || !m.inGroup() || m.group.Open || m.unseen || m.group.heard && (m.group.Annotated == nil || *m.group.Annotated != m.group.Attempt) {
		return false
	}
	w.feed(GroupSeen{Attempts: group.Attempts{Current: m.GroupAttempt()}})
	return true
}

// inGroup: a regular container starts only when the barrier is lifted (B-GRP-5), no attempt
// is reported while something of an earlier one runs (B-GRP-3), and none is waited for in silence, nor with more words than are
// due (B-GRP-16).
func (l *invariants) inGroup(w *walk, was *Machine, effects []Effect) {
	m := w.m
	if m.asks.leader == "" {
		return
	}
	for _, e := range effects {
		if start, is := e.(StartContainer); is {
			if c := m.containerNamed(start.Container); c.kind == regularContainer && m.inGroup() && !m.group.Open {
				l.t.Fatalf("%s is started before the barrier is lifted (B-GRP-5)", start.Container)
			}
			l.attempts[start.ContainerID] = m.group.Attempt
		}
	}
	if m.group.Attempt < was.group.Attempt {
		l.t.Fatalf("the attempt falls from %d to %d (B-GRP-8)", was.group.Attempt, m.group.Attempt)
	}
	if waits := m.kept.Stage == Syncing && !m.unseen && m.group.Joined && slices.ContainsFunc(m.containers, m.atBarrier); waits {
		if said, _ := group.Reminders(m.own(w.now).Sub(m.group.Since)); m.group.Reminders != said {
			l.t.Fatalf("%d reminders of an incomplete group, %d are due (B-GRP-16)", m.group.Reminders, said)
		}
	}
	if m.group.Annotated == was.group.Annotated || m.kept.Stage != Syncing {
		return
	}
	for _, c := range m.regulars() {
		if c.Position == creating {
			continue // the ID is that of the one before, which has ended
		}
		if before, started := l.attempts[c.ID]; started && before < *m.group.Annotated && c.mayRun() {
			l.t.Fatalf("attempt %d is told while %s of attempt %d may run (B-GRP-3)", *m.group.Annotated, c.spec.Name, before)
		}
	}
}
