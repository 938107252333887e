package groups

import (
	"reflect"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
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
func (m *membership) takes(jobSet *jobSet) {
	version, now := jobSet.ResourceVersion, jobSet.now
	if m.version != "" {
		if order, err := resourceversion.CompareResourceVersion(version, m.version); err == nil && order < 0 {
			return
		}
	}
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

// jobSet is a JobSet in one version.
type jobSet struct {
	metav1.ObjectMeta                     // its name and version alone
	now               lifecycle.GroupSeen // how far it is
}

// jobSetOf keeps of a JobSet what members are told.
func jobSetOf(object *unstructured.Unstructured) *jobSet {
	meta := metav1.ObjectMeta{Namespace: object.GetNamespace(), Name: object.GetName(), ResourceVersion: object.GetResourceVersion()}
	return &jobSet{meta, standing(object)}
}

// standing is how far a JobSet is (B-GRP-4, B-GRP-5), or why its pods restart by themselves
// (B-GRP-9).
func standing(object *unstructured.Unstructured) lifecycle.GroupSeen {
	name := object.GetNamespace() + "/" + object.GetName()
	if _, disabled := object.GetAnnotations()[disableAnnotation]; disabled {
		return lifecycle.GroupSeen{Alone: lifecycle.Because{Kind: "jobset-has-annotation", Text: name, Reason: disableAnnotation}}
	}
	var says content
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &says); err != nil {
		return lifecycle.GroupSeen{Unknown: lifecycle.Because{Kind: "jobset-unread", Text: name, Reason: err.Error()}}
	}
	if strategy := says.Spec.FailurePolicy.RestartStrategy; strategy != inPlaceRestart {
		return lifecycle.GroupSeen{Alone: lifecycle.Because{Kind: "jobset-has-strategy", Text: name, Reason: strconv.Quote(strategy)}}
	}
	return lifecycle.GroupSeen{Attempts: group.Attempts{Current: says.Status.CurrentAttempt, Previous: says.Status.PreviousAttempt}, Size: says.size()}
}

// trim is jobSetOf for the watch.
func trim(object any) (any, error) {
	if read, is := object.(*unstructured.Unstructured); is {
		return jobSetOf(read), nil
	}
	return object, nil
}
