package roster

import (
	"cmp"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// View is where one pod stands.
type View struct {
	// Pod is the source's object with the last published status. It must not be
	// changed.
	Pod      *v1.Pod
	Source   Source
	Position Position
	// Reason is what a waiting pod waits for.
	Reason Reason
	// Wanted: its source still has it.
	Wanted bool
	// Published: a status of this node was published; Pod has that of its source otherwise.
	Published bool
	// Evicted: it was told to stop to make room.
	Evicted bool
}

// Pods returns all pods of the roster, sorted by namespace and name.
func (m *Machine) Pods() []View {
	list := make([]View, 0, len(m.pods))
	for _, p := range m.pods {
		list = append(list, p.view())
	}
	slices.SortFunc(list, func(a, b View) int {
		return cmp.Or(
			cmp.Compare(a.Pod.Namespace, b.Pod.Namespace), cmp.Compare(a.Pod.Name, b.Pod.Name), cmp.Compare(a.Pod.UID, b.Pod.UID),
		)
	})
	return list
}

// Pod returns the pod with that name; among several, the wanted one.
func (m *Machine) Pod(namespace, name string) (View, bool) {
	var found *pod
	for _, p := range m.pods {
		if p.newest.Namespace == namespace && p.newest.Name == name && (found == nil || p.wanted) {
			found = p
		}
	}
	if found == nil {
		return View{}, false
	}
	return found.view(), true
}

// PodByUID returns the pod with that UID.
func (m *Machine) PodByUID(uid types.UID) (View, bool) {
	p := m.pods[uid]
	if p == nil {
		return View{}, false
	}
	return p.view(), true
}

func (p *pod) view() View {
	v := View{Pod: p.newest, Source: p.source, Position: p.position, Wanted: p.wanted, Evicted: !p.evicted.IsZero()}
	if p.position == Waiting {
		v.Reason = p.reason
	}
	if p.status.Phase != "" {
		v.Pod, v.Published = p.withStatus(&p.status), true
	}
	return v
}

// withStatus is the pod with another status, in which which claims were made for it stays as
// its source has it: that is for others to say.
func (p *pod) withStatus(status *v1.PodStatus) *v1.Pod {
	pod, made := *p.newest, &p.newest.Status
	pod.Status = *status
	pod.Status.ResourceClaimStatuses, pod.Status.ExtendedResourceClaimStatus = made.ResourceClaimStatuses, made.ExtendedResourceClaimStatus
	pod.Status.NodeAllocatableResourceClaimStatuses = made.NodeAllocatableResourceClaimStatuses
	return &pod
}
