package lifecycle

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/lifecycle/group"
)

// group is what is heard of the pod's group.
func (tr *transcript) group(t *testing.T, d *datadriven.TestData) {
	number := func(key string) *int32 {
		if !d.HasArg(key) {
			return nil
		}
		return new(int32(intArg(t, d, key)))
	}
	count := func(key string) int32 {
		if n := number(key); n != nil {
			return *n
		}
		return 0
	}
	var behind []group.Behind
	for name := range strings.FieldsSeq(stringArg(d, "behind")) {
		name, attempt, _ := strings.Cut(name, ":")
		behind = append(behind, group.Behind{Name: name, Attempt: groupAttempt(attempt)})
	}
	var jobs []group.Jobs
	for text := range strings.FieldsSeq(stringArg(d, "jobs")) {
		of := strings.Split(text, ":")
		jobs = append(jobs, group.Jobs{Name: of[0], Podless: groupSize(of[1]), Of: groupSize(of[2])})
	}
	var differ []group.Says
	for text := range strings.FieldsSeq(stringArg(d, "differ")) {
		name, size, _ := strings.Cut(text, ":")
		differ = append(differ, group.Says{Name: name, Size: groupSize(size)})
	}
	tr.feed(GroupSeen{
		Attempts: group.Attempts{Current: number("current"), Previous: number("previous"), MembersHash: stringArg(d, "hash")},
		Alone:    Because{Text: stringArg(d, "alone")}, Unknown: Because{Text: stringArg(d, "unknown")}, Mode: count("mode"),
		Way: group.Way{Leader: stringArg(d, "leader"), Unreached: stringArg(d, "unreached")},
		Size: group.Size{
			Members: count("members"), Podless: count("podless"), Jobs: jobs, Behind: behind, ByPods: count("bypods"), Differ: differ,
		},
	})
}

// tellsAttempt shows the annotations that go with a status, if they are others.
func (tr *transcript) tellsAttempt() {
	now := tr.m.GroupAnnotations()
	for _, key := range slices.Sorted(maps.Keys(now)) {
		if tr.notes[key] != now[key] {
			tr.line(fmt.Sprintf("annotation %s=%s", key[strings.LastIndex(key, "-")+1:], now[key]))
		}
	}
	tr.notes = now
}

// withAttempt gives an object the annotations that its node has reported.
func withAttempt(pod *v1.Pod, m *Machine) {
	now := m.GroupAnnotations()
	if now == nil {
		return
	}
	if pod.Annotations = maps.Clone(pod.Annotations); pod.Annotations == nil {
		pod.Annotations = map[string]string{}
	}
	maps.Copy(pod.Annotations, now)
}
