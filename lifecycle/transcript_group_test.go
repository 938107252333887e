package lifecycle

import (
	"fmt"
	"maps"
	"strconv"
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
	tr.feed(GroupSeen{
		Attempts: group.Attempts{Current: number("current"), Previous: number("previous")},
		Alone:    stringArg(d, "alone"), Unknown: stringArg(d, "unknown"),
		Size: group.Size{Members: count("members"), Podless: count("podless"), Where: stringArg(d, "where")},
	})
}

// tellsAttempt shows the annotation that goes with a status, if it is another one.
func (tr *transcript) tellsAttempt() {
	now := tr.m.GroupAttempt()
	if now == nil || tr.attempt != nil && *tr.attempt == *now {
		return
	}
	tr.attempt = now
	tr.line(fmt.Sprintf("annotation attempt=%d", *now))
}

// withAttempt gives an object the annotation that its node has told.
func withAttempt(pod *v1.Pod, m *Machine) {
	attempt := m.GroupAttempt()
	if attempt == nil {
		return
	}
	if pod.Annotations = maps.Clone(pod.Annotations); pod.Annotations == nil {
		pod.Annotations = map[string]string{}
	}
	pod.Annotations[AttemptAnnotation] = strconv.Itoa(int(*attempt))
}
