package lifecycle

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifepod/lifepod/lifecycle/group"
)

// What a pod says of its group, and what the node says in return (docs/groups.md).
const (
	// GroupAnnotation asks for the pod to take part in a group; its value is who leads it.
	GroupAnnotation = "lifepod.dev/group"
	// LedByJobSet is the value for a pod of a JobSet (B-GRP-1).
	LedByJobSet = "jobset"
	// JobSetLabel is the label that names the pod's JobSet; its controller sets it.
	JobSetLabel = "jobset.sigs.k8s.io/jobset-name"
	// AttemptAnnotation is where the node says which attempt a pod of a JobSet takes part in (B-GRP-3).
	AttemptAnnotation = "jobset.sigs.k8s.io/in-place-restart-attempt"

	// LedByMembers is the value for a pod of a group without a leader (B-GRP-17).
	LedByMembers = "members"
	// GroupNameLabel is the label that all members of such a group have, with the same value.
	GroupNameLabel = "lifepod.dev/group-name"
	// GroupSizeAnnotation says how many members an attempt of it needs at least.
	GroupSizeAnnotation = "lifepod.dev/group-size"
	// MemberAttemptAnnotation is where the node says which attempt a member takes part in, MemberBeganAnnotation in which
	// it was started last and with whom, MemberDoneAnnotation that it has succeeded (B-GRP-18).
	MemberAttemptAnnotation = "lifepod.dev/group-attempt"
	MemberBeganAnnotation   = "lifepod.dev/group-began"
	MemberDoneAnnotation    = "lifepod.dev/group-done"
)

// membersMost is how many members a group can have.
const membersMost = 100_000

// groupAsked is what a pod's labels and annotations say of its group.
type groupAsked struct {
	leader string // empty: it takes part in none
	wrong  string // what is wrong with it; empty: nothing
}

// AsksForGroup says whether the pod asks to take part in a group, rightly or not.
func AsksForGroup(pod *v1.Pod) bool {
	asked := groupAskedOf(pod)
	return asked.leader != "" || asked.wrong != ""
}

func groupAskedOf(pod *v1.Pod) groupAsked {
	leader, asks := pod.Annotations[GroupAnnotation]
	own, wrong := ofMembers(pod)
	switch {
	case wrong != "":
		return groupAsked{wrong: wrong}
	case own != "" && leader != LedByMembers:
		return groupAsked{wrong: fmt.Sprintf("the %s is of a pod with the annotation %s: %s", own, GroupAnnotation, LedByMembers)}
	case !asks:
		return groupAsked{}
	case leader == LedByMembers:
		return askedByMember(pod)
	case leader != LedByJobSet:
		return groupAsked{wrong: fmt.Sprintf("the annotation %s: %q is not a leader of groups; there are %s and %s",
			GroupAnnotation, leader, LedByJobSet, LedByMembers)}
	case pod.Labels[JobSetLabel] == "":
		return groupAsked{wrong: fmt.Sprintf("the annotation %s: %s needs the label %s, which pods of a JobSet have", GroupAnnotation, LedByJobSet, JobSetLabel)}
	}
	return groupAsked{leader: leader}
}

// forgedAnnotation says that a pod has what only the node that begins with it tells of it (B-GRP-23); empty: it has not.
func forgedAnnotation(pod *v1.Pod) string {
	if pod.Status.StartTime != nil { // a node had begun with it, and has reported that
		return ""
	}
	keys := []string{MemberAttemptAnnotation, MemberBeganAnnotation, MemberDoneAnnotation}
	if pod.Annotations[GroupAnnotation] == LedByJobSet {
		keys = append(keys, AttemptAnnotation)
	}
	for _, key := range keys {
		if value, has := pod.Annotations[key]; has {
			return fmt.Sprintf("metadata.annotations[%s]: %q was told by no node: leave it out of the pod's template, the node writes it", key, value)
		}
	}
	return ""
}

// ofMembers is what the pod has that only members of groups without a leader have, and what it has that nobody has.
func ofMembers(pod *v1.Pod) (own, wrong string) {
	for _, key := range slices.Sorted(maps.Keys(pod.Labels)) {
		switch {
		case !strings.HasPrefix(key, GroupAnnotation):
		case key != GroupNameLabel:
			return "", fmt.Sprintf("the label %s is unknown; there is %s", key, GroupNameLabel)
		default:
			own = "label " + key
		}
	}
	for _, key := range slices.Sorted(maps.Keys(pod.Annotations)) {
		switch {
		case !strings.HasPrefix(key, GroupAnnotation) || key == GroupAnnotation:
		case !slices.Contains([]string{GroupSizeAnnotation, MemberAttemptAnnotation, MemberBeganAnnotation, MemberDoneAnnotation}, key):
			return "", fmt.Sprintf("the annotation %s is unknown; there are %s and %s", key, GroupAnnotation, GroupSizeAnnotation)
		case own == "":
			own = "annotation " + key
		}
	}
	return own, ""
}

// askedByMember is what a pod says that asks to be a member of a group without a leader.
func askedByMember(pod *v1.Pod) groupAsked {
	size, said := pod.Annotations[GroupSizeAnnotation]
	var wrong string
	switch {
	case pod.Labels[GroupNameLabel] == "":
		wrong = fmt.Sprintf("the annotation %s: %s needs the label %s, the same on all pods of the group", GroupAnnotation, LedByMembers, GroupNameLabel)
	case !said:
		wrong = fmt.Sprintf("the annotation %s: %s needs the annotation %s, how many pods the group has", GroupAnnotation, LedByMembers, GroupSizeAnnotation)
	case groupSize(size) == 0:
		wrong = fmt.Sprintf("the annotation %s: %q is not a number from 1 to %d", GroupSizeAnnotation, size, membersMost)
	default:
		return groupAsked{leader: LedByMembers}
	}
	return groupAsked{wrong: wrong}
}

// groupSize is what the annotation says; 0: nothing valid.
func groupSize(text string) int32 {
	size, err := strconv.ParseInt(text, 10, 32)
	if err != nil || size < 1 || size > membersMost {
		return 0
	}
	return int32(size)
}

// attemptMost is the highest attempt that is believed: another one follows it.
const attemptMost = 1 << 30

// groupAttempt is an attempt as an annotation says it; nil: it says none.
func groupAttempt(text string) *int32 {
	attempt, err := strconv.ParseInt(text, 10, 32)
	if err != nil || attempt < 0 || attempt > attemptMost {
		return nil
	}
	return new(int32(attempt))
}

// groupAttemptAndMode are an attempt and the mode of a member as an annotation says them (B-GRP-18).
func groupAttemptAndMode(text string) (attempt *int32, mode int32) {
	text, after, has := strings.Cut(text, ".")
	if m := groupAttempt(after); m != nil {
		mode = *m
	} else if has {
		return nil, 0
	}
	return groupAttempt(text), mode
}

// GroupPeer is the member that a pod is of its group without a leader, from the object's metadata; false: it is none
// (B-GRP-17).
func GroupPeer(pod *metav1.ObjectMeta) (group.Peer, bool) {
	if pod.Annotations[GroupAnnotation] != LedByMembers {
		return group.Peer{}, false
	}
	p := group.Peer{
		Name: pod.Name, UID: string(pod.UID), Size: groupSize(pod.Annotations[GroupSizeAnnotation]),
		Done: pod.Annotations[MemberDoneAnnotation] != "", Leaving: pod.DeletionTimestamp != nil,
	}
	p.Attempt, p.Mode = groupAttemptAndMode(pod.Annotations[MemberAttemptAnnotation])
	attempt, membersHash, _ := strings.Cut(pod.Annotations[MemberBeganAnnotation], "-")
	if began := groupAttempt(attempt); began != nil && membersHash != "" {
		p.Began = &group.Began{Attempt: *began, MembersHash: membersHash}
	}
	return p, true
}

// attemptKey is the annotation that says which attempt a pod takes part in.
func (g groupAsked) attemptKey() string {
	if g.leader == LedByMembers {
		return MemberAttemptAnnotation
	}
	return AttemptAnnotation
}

// GroupAnnotations are the annotations that the pod's object has to have as of the last status, by what the node knows of its
// group (B-GRP-3, B-GRP-18).
func (m *Machine) GroupAnnotations() map[string]string {
	g := &m.group
	if g.Annotated == nil {
		return nil
	}
	all := map[string]string{m.asks.attemptKey(): strconv.Itoa(int(*g.Annotated))}
	if m.asks.leader != LedByMembers {
		return all
	}
	if g.Mode > 0 {
		all[MemberAttemptAnnotation] += fmt.Sprint(".", g.Mode)
	}
	if g.Open && g.MembersHash != "" && *g.Annotated == g.Attempt {
		all[MemberBeganAnnotation] = fmt.Sprintf("%d-%s", g.Attempt, g.MembersHash)
	}
	if m.kept.Reported.Phase == v1.PodSucceeded {
		all[MemberDoneAnnotation] = "true"
	}
	return all
}
