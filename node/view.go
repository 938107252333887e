package node

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/node/metrics"
	"github.com/lifepod/lifepod/roster"
)

// Pods are those that the sources want and those that have not ended yet, each
// with its current status, by namespace and name. They must not be changed.
func (p *Pods) Pods() []*v1.Pod {
	var list []*v1.Pod
	for _, view := range p.views() {
		if view.Source != roster.Runtime {
			list = append(list, view.Pod)
		}
	}
	return list
}

func (p *Pods) views() (list []roster.View) {
	p.ask(func(m *roster.Machine) { list = m.Pods() })
	return list
}

// Pod is the pod of that name; of several the one that is wanted. A static pod has
// the name of its mirror pod.
func (p *Pods) Pod(namespace, name string) (pod *v1.Pod, found bool) {
	p.ask(func(m *roster.Machine) {
		var view roster.View
		view, found = m.Pod(namespace, name)
		pod = view.Pod
	})
	return pod, found
}

// PodByUID is the pod with that UID, or the static pod whose mirror pod has it.
func (p *Pods) PodByUID(uid types.UID) (pod *v1.Pod, found bool) {
	static, isMirror := types.UID(""), false
	if p.Local.StaticOf != nil {
		static, isMirror = p.Local.StaticOf(uid)
	}
	p.ask(func(m *roster.Machine) {
		view, there := m.PodByUID(uid)
		if !there && isMirror {
			view, there = m.PodByUID(static)
		}
		pod, found = view.Pod, there
	})
	return pod, found
}

// LogDir is the folder of a pod's logs.
func (p *Pods) LogDir(pod *v1.Pod) string { return p.Engine.Config.PodLogDirectory(pod) }

// Healthy is why pods are not gone on with, nil if all are: no pod waits for another,
// so that each is looked at.
func (p *Pods) Healthy() error {
	var unhealthy []error
	if waits := p.mail.Behind(); waits >= standstill {
		unhealthy = append(unhealthy, fmt.Errorf("no pod has been begun or ended for %s", waits.Round(time.Second)))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range p.lives {
		pod := name(l.worker.Pod())
		if waits := l.worker.Behind(); waits >= standstill {
			unhealthy = append(unhealthy, fmt.Errorf("pod %s has not been gone on with for %s", pod, waits.Round(time.Second)))
		}
		if err := l.worker.Unsaved(); err != nil {
			unhealthy = append(unhealthy, fmt.Errorf("the state of pod %s can't be saved: %w", pod, err))
		}
	}
	slices.SortFunc(unhealthy, func(a, b error) int { return cmp.Compare(a.Error(), b.Error()) })
	return errors.Join(unhealthy...)
}

// Census is where each pod stands, for metrics (B-WRK-26).
func (p *Pods) Census() []metrics.Pod {
	var list []metrics.Pod
	for _, view := range p.views() {
		list = append(list, metrics.Pod{
			Status: &view.Pod.Status, Static: view.Source.Static(),
			Desired: view.Wanted, Runtime: view.Source == roster.Runtime, Lifecycle: asWorker(view),
		})
	}
	return list
}

// asWorker is how far a pod has come, as the kubelet tells it of its workers.
func asWorker(view roster.View) string {
	ends := view.Pod.DeletionTimestamp != nil || terminal(view.Pod.Status.Phase) || view.Source == roster.Runtime || view.Evicted
	switch view.Position {
	case roster.Over:
		return "terminated"
	case roster.Unheard, roster.Waiting:
		return ""
	case roster.Leaving:
		return "terminating"
	}
	if ends {
		return "terminating"
	}
	return "sync"
}

func terminal(phase v1.PodPhase) bool { return phase == v1.PodSucceeded || phase == v1.PodFailed }
