package why

import (
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/internal/sentence"
)

// TestObjects: what no pod speaks for is said once, in the words of whoever refused it; what is as it should be is not.
func TestObjects(t *testing.T) {
	meta := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name)}
	}
	of := func(deployment string) metav1.ObjectMeta {
		m := meta(deployment + "-5d9c")
		m.OwnerReferences = []metav1.OwnerReference{{Kind: "Deployment", Name: deployment, Controller: new(true)}}
		return m
	}
	event := func(uid, reason, message string, at int64) v1.Event {
		return v1.Event{InvolvedObject: v1.ObjectReference{UID: types.UID(uid)}, Reason: reason, Message: message, LastTimestamp: metav1.NewTime(time.Unix(at, 0))}
	}
	behind := func(service string, ready ...bool) (s discoveryv1.EndpointSlice) {
		s.Namespace, s.Labels = "default", map[string]string{discoveryv1.LabelServiceName: service}
		for i := range ready {
			s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{Addresses: []string{string(rune('a' + i))}, Conditions: discoveryv1.EndpointConditions{Ready: &ready[i]}})
		}
		return s
	}
	service := func(name string) v1.Service {
		return v1.Service{ObjectMeta: meta(name), Spec: v1.ServiceSpec{Selector: map[string]string{"app": name}}}
	}
	failure := []appsv1.ReplicaSetCondition{{Type: appsv1.ReplicaSetReplicaFailure, Status: v1.ConditionTrue, Message: `pods "web-5d9c-" is forbidden: exceeded quota: few`}}
	o := &Objects{
		ReplicaSets: []appsv1.ReplicaSet{
			{ObjectMeta: of("web"), Spec: appsv1.ReplicaSetSpec{Replicas: new(int32(3))}, Status: appsv1.ReplicaSetStatus{Replicas: 1, Conditions: failure}},
			{ObjectMeta: of("well"), Spec: appsv1.ReplicaSetSpec{Replicas: new(int32(1))}, Status: appsv1.ReplicaSetStatus{Replicas: 1, Conditions: failure}},
		},
		StatefulSets: []appsv1.StatefulSet{{ObjectMeta: meta("db")}, {ObjectMeta: meta("slow")}},
		DaemonSets:   []appsv1.DaemonSet{{ObjectMeta: meta("log"), Status: appsv1.DaemonSetStatus{DesiredNumberScheduled: 2}}},
		Jobs: []batchv1.Job{
			{ObjectMeta: meta("train")},
			{ObjectMeta: meta("done"), Status: batchv1.JobStatus{Conditions: []batchv1.JobCondition{{Type: batchv1.JobFailed, Status: v1.ConditionTrue}}}},
			{ObjectMeta: meta("runs"), Status: batchv1.JobStatus{Active: 1}},
		},
		Claims: []v1.PersistentVolumeClaim{
			{ObjectMeta: meta("data"), Status: v1.PersistentVolumeClaimStatus{Phase: v1.ClaimPending}},
			{ObjectMeta: meta("later"), Status: v1.PersistentVolumeClaimStatus{Phase: v1.ClaimPending}},
			{ObjectMeta: meta("bound"), Status: v1.PersistentVolumeClaimStatus{Phase: v1.ClaimBound}},
		},
		Services: []v1.Service{service("api"), service("front"), service("back"), {ObjectMeta: meta("by-hand")}},
		Slices:   []discoveryv1.EndpointSlice{behind("front", false, false), behind("back", false, true)},
		Events: []v1.Event{
			event("db", "FailedCreate", "create Pod db-0 in StatefulSet db failed error: no service account", 1),
			event("log", "FailedCreate", "Error creating: webhook down", 2), event("log", "FailedCreate", "Error creating: webhook late", 1),
			event("train", "FailedCreate", `Error creating: pods "train-" is forbidden: maximum cpu is 1`, 1),
			event("done", "FailedCreate", "x", 1), event("runs", "FailedCreate", "x", 1), event("bound", "ProvisioningFailed", "x", 1),
			event("data", "ProvisioningFailed", `storageclass.storage.k8s.io "fast" not found`, 1), event("later", "WaitForFirstConsumer", "waiting", 1),
		},
	}
	var b strings.Builder
	assert.Must(t, (Layout{Width: 200}).WriteAll(&b, o.Troubles(sentence.English), 4))
	want := `DaemonSet default/log
  It has 0 of 2 pods, because another can't be created: webhook down.
Deployment default/web
  It has 1 of 3 pods, because another can't be created: pods "web-5d9c-" is forbidden: exceeded quota: few.
Job default/train
  It has 0 of 1 pod, because another can't be created: pods "train-" is forbidden: maximum cpu is 1.
PersistentVolumeClaim default/data
  It is not bound: storageclass.storage.k8s.io "fast" not found.
Service default/api
  It has no endpoints: no pod with an address has the labels app=api.
Service default/front
  None of its 2 endpoints is ready.
StatefulSet default/db
  It has 0 of 1 pod, because another can't be created: create Pod db-0 in StatefulSet db failed error: no service account.
4 pods, all as they should be, but not what is above.
`
	assert.Deep(t, "", want, b.String())
}
