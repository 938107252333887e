package groups

import (
	"fmt"
	"reflect"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/lifecycle/group"
)

// membership is a JobSet with its members, guarded by the mu of JobSets.
type membership struct {
	members map[types.UID]*member
	version string              // the newest that is known; empty: none is
	now     lifecycle.GroupSeen // how far it is in that version
}

// member is a pod's place in a JobSet, and who is told.
type member struct {
	tell func(lifecycle.GroupSeen)
	read bool // its JobSet was read since it has joined: what the watch has may be older than the pod (B-GRP-2)
}

// takes files a JobSet, unless a newer version is known (B-GRP-8), and tells the members that have
// joined before if it says something else than that one. A change that says the same, such as how many
// pods are ready, is told to nobody: there may be thousands of members.
func (m *membership) takes(jobSet *unstructured.Unstructured) {
	version := jobSet.GetResourceVersion()
	if m.version != "" {
		if order, err := resourceversion.CompareResourceVersion(version, m.version); err == nil && order < 0 {
			return
		}
	}
	now := standing(jobSet)
	news := m.version == "" || !reflect.DeepEqual(now, m.now)
	m.version, m.now = version, now
	if !news {
		return
	}
	for _, member := range m.members {
		if member.read {
			member.tell(now)
		}
	}
}

// tells tells members how far their JobSet is that have not been told yet.
func (m *membership) tells(reading []*member) {
	for _, member := range reading {
		member.read = true
		member.tell(m.now)
	}
}

// jobSets is the resource; sigs.k8s.io/jobset v0.12.0 has this version.
var jobSets = schema.GroupVersionResource{Group: "jobset.x-k8s.io", Version: "v1alpha2", Resource: "jobsets"}

const (
	inPlaceRestart    = "InPlaceRestart"                              // failurePolicy.restartStrategy
	disableAnnotation = "jobset.sigs.k8s.io/disable-in-place-restart" // of the JobSet
)

// Where a JobSet says it.
func strategyPath() []string { return []string{"spec", "failurePolicy", "restartStrategy"} }
func currentPath() []string  { return []string{"status", "currentInPlaceRestartAttempt"} }
func previousPath() []string { return []string{"status", "previousInPlaceRestartAttempt"} }

// standing is how far a JobSet is (B-GRP-4, B-GRP-5), or why its pods restart by themselves
// (B-GRP-9).
func standing(jobSet *unstructured.Unstructured) lifecycle.GroupSeen {
	name := jobSet.GetNamespace() + "/" + jobSet.GetName()
	if _, disabled := jobSet.GetAnnotations()[disableAnnotation]; disabled {
		return lifecycle.GroupSeen{Alone: lifecycle.Because{Kind: "jobset-has-annotation", Text: name, Reason: disableAnnotation}}
	}
	if strategy, _, err := unstructured.NestedString(jobSet.Object, strategyPath()...); err != nil || strategy != inPlaceRestart {
		return lifecycle.GroupSeen{Alone: lifecycle.Because{Kind: "jobset-has-strategy", Text: name, Reason: strconv.Quote(strategy)}}
	}
	return lifecycle.GroupSeen{
		Attempts: group.Attempts{Current: attempt(jobSet, currentPath()), Previous: attempt(jobSet, previousPath())},
		Size:     sizeOf(jobSet),
	}
}

// attempt is one of the status; the JobSet's schema lets it be a number of 32 bits, or missing.
func attempt(jobSet *unstructured.Unstructured, path []string) *int32 {
	value, found, err := unstructured.NestedInt64(jobSet.Object, path...)
	if !found || err != nil {
		return nil
	}
	return new(int32(value))
}

// trim keeps of a JobSet what standing looks at.
func trim(object any) (any, error) {
	jobSet, is := object.(*unstructured.Unstructured)
	if !is {
		return object, nil
	}
	kept := &unstructured.Unstructured{Object: map[string]any{}}
	kept.SetGroupVersionKind(jobSet.GroupVersionKind())
	kept.SetNamespace(jobSet.GetNamespace())
	kept.SetName(jobSet.GetName())
	kept.SetUID(jobSet.GetUID())
	kept.SetResourceVersion(jobSet.GetResourceVersion())
	if value, disabled := jobSet.GetAnnotations()[disableAnnotation]; disabled {
		kept.SetAnnotations(map[string]string{disableAnnotation: value})
	}
	for _, path := range [][]string{strategyPath(), currentPath(), previousPath()} {
		value, found, err := unstructured.NestedFieldCopy(jobSet.Object, path...)
		if !found || err != nil {
			continue
		}
		if err := unstructured.SetNestedField(kept.Object, value, path...); err != nil {
			return nil, fmt.Errorf("trim JobSet %s/%s: %w", jobSet.GetNamespace(), jobSet.GetName(), err)
		}
	}
	return kept, trimJobs(jobSet, kept)
}
