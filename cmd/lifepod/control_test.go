package main

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/lifepod/lifepod/internal/assert"
)

func TestGraceSeconds(t *testing.T) {
	for grace, want := range map[time.Duration]int64{0: 0, time.Millisecond: 1, 10 * time.Second: 10, time.Minute + time.Millisecond: 61} {
		got := assert.Get(graceSeconds(&grace, false)).Must(t)
		assert.Equal(t, want, *got, "%v", grace)
	}
	own, err := graceSeconds(nil, false)
	forced, err2 := graceSeconds(nil, true)
	assert.True(t, err == nil && err2 == nil && own == nil && *forced == 0, "the pod's own %v, %v; forced %v, %v", own, err, forced, err2)
}

func resources(limits, requests v1.ResourceList) v1.ResourceRequirements {
	return v1.ResourceRequirements{Limits: limits, Requests: requests}
}

func amounts(texts ...string) v1.ResourceList {
	list := v1.ResourceList{}
	for i := 0; i < len(texts); i += 2 {
		list[v1.ResourceName(texts[i])] = resource.MustParse(texts[i+1])
	}
	return list
}

// A request that equals its limit follows it, unless another was said: the QoS
// class may not change (A-API-3).
func TestWithResources(t *testing.T) {
	old := resources(amounts("cpu", "1", "memory", "64Mi"), amounts("cpu", "1000m", "memory", "32Mi"))
	pod := &v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{{Name: "main", Resources: old}}}}
	for _, tc := range []struct {
		name             string
		limits, requests v1.ResourceList
		want             v1.ResourceRequirements
	}{
		{"equal", amounts("cpu", "2"), amounts(), resources(amounts("cpu", "2"), amounts("cpu", "2"))},
		{"different", amounts("memory", "96Mi"), amounts(), resources(amounts("memory", "96Mi"), amounts())},
		{"said", amounts("cpu", "2"), amounts("cpu", "500m"), resources(amounts("cpu", "2"), amounts("cpu", "500m"))},
	} {
		assert.Deep(t, tc.name, tc.want, withResources(pod, "main", tc.limits, tc.requests))
	}
}

func TestParseCondition(t *testing.T) {
	for text, want := range map[string]v1.PodCondition{
		"a.b/c=True":  {Type: "a.b/c", Status: v1.ConditionTrue},
		"c=Unknown":   {Type: "c", Status: v1.ConditionUnknown},
		"a.b/c-":      {Type: "a.b/c"},
		"with-dash=-": {},
		"=True":       {},
		"c=true":      {},
		"c":           {},
		"":            {},
	} {
		var got v1.PodCondition
		err := parseCondition(text, &got)
		assert.True(t, (want.Type != "" || err != nil) && (want.Type == "" || err == nil && cmp.Equal(want, got)),
			"%q: %+v, %v, want %+v", text, got, err, want)
	}
}
