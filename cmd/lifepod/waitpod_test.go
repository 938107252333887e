package main

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/assert"
)

func TestParseFor(t *testing.T) {
	pod := &v1.Pod{Status: v1.PodStatus{Phase: v1.PodRunning, Conditions: []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue}}}}
	for text, want := range map[string]bool{
		"condition=Ready": true, "condition=ready=true": true, "condition=Ready=False": false, "condition=Initialized": false,
		"jsonpath={.status.phase}=Running": true, "jsonpath={.status.podIP}=10.0.0.1": false,
	} {
		is, err := parseFor(text)
		assert.True(t, err == nil && is(pod) == want, "--for=%s: %v, want %t", text, err, want)
	}
	if is, err := parseFor("delete"); is != nil || err != nil {
		t.Error(is != nil, err)
	}
	for _, text := range []string{"", "Ready", "condition=", "jsonpath=.status.phase", "jsonpath={.status[}=1"} {
		_, err := parseFor(text)
		assert.True(t, err != nil && strings.Contains(err.Error(), "--for"), "--for=%s: %v", text, err)
	}
}
