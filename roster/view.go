package roster

import (
	"cmp"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// View is where one pod stands.
type View struct {
	// Pod is as its source has it, with the status that was published last. It must
	// not be changed.
	Pod      *v1.Pod
	Source   Source
	Position Position
	// Reason is what a waiting pod waits for.
	Reason Reason
	// Wanted says that its source has it.
	Wanted bool
	// Evicted says that it was asked to end to make room.
	Evicted bool
}

// Pods are all pods that the roster has, by namespace and name.
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

// Pod is the pod of that name; of several the one that is wanted.
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

// PodByUID is the pod with that UID.
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
		v.Pod = p.withStatus(&p.status)
	}
	return v
}

func (p *pod) withStatus(status *v1.PodStatus) *v1.Pod {
	pod := *p.newest
	pod.Status = *status
	return &pod
}
