package why

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/lifepod/lifepod/internal/plain"
	"github.com/lifepod/lifepod/internal/sentence"
	"github.com/lifepod/lifepod/journal"
)

// Objects are what a cluster has beside pods. Of Events those of pods need not be among them.
type Objects struct {
	ReplicaSets  []appsv1.ReplicaSet
	StatefulSets []appsv1.StatefulSet
	DaemonSets   []appsv1.DaemonSet
	Jobs         []batchv1.Job
	Claims       []v1.PersistentVolumeClaim
	Services     []v1.Service
	Slices       []discoveryv1.EndpointSlice
	Events       []v1.Event
}

// Troubles are those of objects for which no pod speaks: workloads whose pods the API server refuses, claims that are not bound,
// Services without an endpoint that is ready.
func (o *Objects) Troubles(l sentence.Language) (list []Trouble) {
	add := func(badness int, kind string, meta *metav1.ObjectMeta, text string) {
		if owner := metav1.GetControllerOf(meta); owner != nil {
			kind, meta = owner.Kind, &metav1.ObjectMeta{Namespace: meta.Namespace, Name: owner.Name}
		}
		name := kind + " " + plain.Line(meta.Namespace+"/"+meta.Name)
		list = append(list, Trouble{Version: plain.JSONVersion, Object: name, Pods: []journal.Pod{}, badness: badness, Cause: Sentence{Kind: KindObject, Subject: name, Text: plain.Line(text) + l.Word(".")}})
	}
	refused := func(kind string, meta *metav1.ObjectMeta, has, wants int32, why string) {
		if has < wants && why != "" {
			why = strings.TrimPrefix(why, "Error creating: ")
			add(worstFailing, kind, meta, l.Say("It has %d of %s, because another can't be created: %s", has, l.Count(int(wants), "pod"), strings.TrimSuffix(why, ".")))
		}
	}
	for i := range o.ReplicaSets {
		set := &o.ReplicaSets[i]
		for _, c := range set.Status.Conditions {
			if c.Type == appsv1.ReplicaSetReplicaFailure && c.Status == v1.ConditionTrue {
				refused("ReplicaSet", &set.ObjectMeta, set.Status.Replicas, ptr.Deref(set.Spec.Replicas, 1), c.Message)
			}
		}
	}
	for i := range o.StatefulSets {
		set := &o.StatefulSets[i]
		refused("StatefulSet", &set.ObjectMeta, set.Status.Replicas, ptr.Deref(set.Spec.Replicas, 1), o.last(set.UID, "FailedCreate"))
	}
	for i := range o.DaemonSets {
		set := &o.DaemonSets[i]
		refused("DaemonSet", &set.ObjectMeta, set.Status.CurrentNumberScheduled, set.Status.DesiredNumberScheduled, o.last(set.UID, "FailedCreate"))
	}
	for i := range o.Jobs {
		if job := &o.Jobs[i]; !ended(job) && !ptr.Deref(job.Spec.Suspend, false) {
			had := job.Status.Active + job.Status.Succeeded + job.Status.Failed
			refused("Job", &job.ObjectMeta, had, 1, o.last(job.UID, "FailedCreate"))
		}
	}
	for i := range o.Claims {
		claim := &o.Claims[i]
		if why := o.last(claim.UID, "ProvisioningFailed", "FailedBinding"); claim.Status.Phase == v1.ClaimPending && why != "" {
			add(worstWaiting, "PersistentVolumeClaim", &claim.ObjectMeta, l.Say("It is not bound: %s", why))
		}
	}
	for i := range o.Services {
		service := &o.Services[i]
		if len(service.Spec.Selector) == 0 || service.Spec.Type == v1.ServiceTypeExternalName {
			continue
		}
		switch ready, all := o.endpoints(service); {
		case all == 0:
			add(worstWaiting, "Service", &service.ObjectMeta, l.Say("It has no endpoints: no pod with an address has the labels %s", metav1.FormatLabelSelector(&metav1.LabelSelector{MatchLabels: service.Spec.Selector})))
		case ready == 0:
			add(worstWaiting, "Service", &service.ObjectMeta, l.Say("None of its %s is ready", l.Count(all, "endpoint")))
		}
	}
	slices.SortStableFunc(list, func(a, b Trouble) int { return cmp.Compare(a.Object, b.Object) })
	return slices.CompactFunc(list, func(a, b Trouble) bool { return a.Object == b.Object && a.Cause.Text == b.Cause.Text })
}

func ended(job *batchv1.Job) bool {
	return slices.ContainsFunc(job.Status.Conditions, func(c batchv1.JobCondition) bool {
		return (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == v1.ConditionTrue
	})
}

// last is the message of an object's newest event with one of these reasons, empty if it has none.
func (o *Objects) last(uid types.UID, reasons ...string) (message string) {
	var newest time.Time
	for i := range o.Events {
		e := &o.Events[i]
		at := e.LastTimestamp.Time
		if at.IsZero() {
			at = e.EventTime.Time
		}
		if e.InvolvedObject.UID == uid && slices.Contains(reasons, e.Reason) && !at.Before(newest) {
			newest, message = at, e.Message
		}
	}
	return message
}

// endpoints counts the addresses that stand behind a service.
func (o *Objects) endpoints(service *v1.Service) (ready, all int) {
	addresses := map[string]bool{}
	for i := range o.Slices {
		slice := &o.Slices[i]
		if slice.Namespace != service.Namespace || slice.Labels[discoveryv1.LabelServiceName] != service.Name {
			continue
		}
		for _, e := range slice.Endpoints {
			for _, a := range e.Addresses {
				addresses[a] = addresses[a] || ptr.Deref(e.Conditions.Ready, true)
			}
		}
	}
	for is := range maps.Values(addresses) {
		if is {
			ready++
		}
	}
	return ready, len(addresses)
}
