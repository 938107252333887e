package roster

import (
	"cmp"
	"slices"

	v1 "k8s.io/api/core/v1"
)

// earlier compares pods by their creation. No two pods are equal.
func earlier(a, b *pod) int {
	return cmp.Or(
		a.newest.CreationTimestamp.Compare(b.newest.CreationTimestamp.Time),
		cmp.Compare(a.newest.Name, b.newest.Name), cmp.Compare(a.uid, b.uid),
	)
}

// add takes up a pod, in the place of one with its UID if there is one.
func (m *Machine) add(p *pod) {
	if before := m.pods[p.uid]; before != nil {
		m.remove(before)
	}
	m.pods[p.uid] = p
	at, _ := slices.BinarySearchFunc(m.order, p, earlier)
	m.order = slices.Insert(m.order, at, p)
}

func (m *Machine) remove(p *pod) {
	delete(m.pods, p.uid)
	if at, there := slices.BinarySearchFunc(m.order, p, earlier); there {
		m.order = slices.Delete(m.order, at, at+1)
	}
}

// renew gives a pod its source's current object: a static pod's may say that it was created at another time.
func (m *Machine) renew(p *pod, newest *v1.Pod) {
	if p.newest.CreationTimestamp.Equal(&newest.CreationTimestamp) && p.newest.Name == newest.Name {
		p.newest = newest
		return
	}
	m.remove(p)
	p.newest = newest
	m.add(p)
}
