package numa

import (
	v1 "k8s.io/api/core/v1"
)

// Tally is what the containers of a pod have asked for at its admission, and what has come of
// it (A-NUMA-19).
type Tally struct {
	CPUs, Memory Asked
	OneCache     int // containers whose CPUs share an uncore cache
}

// Figures are those of now; none without a policy.
func (r *Resources) Figures() Figures {
	if r.CPUs == nil {
		return Figures{}
	}
	return r.CPUs.Figures()
}

// Asked is how many containers have asked for something, and how many could not have it. The
// others after such a one are not asked.
type Asked struct{ Containers, Errors int }

// tallied counts what is asked of a provider.
type tallied struct {
	Provider
	asks func(*v1.Pod, *v1.Container) bool
	in   *Asked
}

// Allocate counts, and has the provider do it.
func (t tallied) Allocate(pod *v1.Pod, container *v1.Container, hint Hint) error {
	if t.asks(pod, container) {
		t.in.Containers++
	}
	err := t.Provider.Allocate(pod, container, hint)
	if err != nil {
		t.in.Errors++
	}
	return err
}

func (t *Tally) ofCPUs(p Provider) Provider {
	return tallied{Provider: p, asks: AsksForCPUs, in: &t.CPUs}
}

func (t *Tally) ofMemory(p Provider) Provider {
	return tallied{Provider: p, asks: func(pod *v1.Pod, _ *v1.Container) bool { return AsksForMemory(pod) }, in: &t.Memory}
}

// aligned adds how the CPUs that a pod has now are aligned.
func (t *Tally) aligned(pod *v1.Pod, by *StaticCPUs) {
	if by == nil {
		return
	}
	for _, list := range [][]v1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range list {
			if by.OneCache(pod.UID, list[i].Name) {
				t.OneCache++
			}
		}
	}
}
