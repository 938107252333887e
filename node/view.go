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
	"github.com/lifepod/lifepod/node/source"
)

// Pods are those that the sources want and those that have not ended yet, each
// with its current status, by namespace and name. They must not be changed.
func (p *Pods) Pods() []*v1.Pod {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := make([]*v1.Pod, 0, len(p.pods))
	for _, e := range p.pods {
		if e.origin != originRuntime {
			list = append(list, e.withStatus())
		}
	}
	slices.SortFunc(list, func(a, b *v1.Pod) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return list
}

// Pod is the pod of that name; of several the one that is wanted. A static pod has
// the name of its mirror pod.
func (p *Pods) Pod(namespace, name string) (*v1.Pod, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var found *pod
	for _, e := range p.pods {
		if e.newest.Namespace == namespace && e.newest.Name == name && (found == nil || e.wanted) {
			found = e
		}
	}
	if found == nil {
		return nil, false
	}
	return found.withStatus(), true
}

// PodByUID is the pod with that UID, or the static pod whose mirror pod has it.
func (p *Pods) PodByUID(uid types.UID) (*v1.Pod, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e := p.pods[uid]; e != nil {
		return e.withStatus(), true
	}
	if p.Local.StaticOf == nil {
		return nil, false
	}
	static, found := p.Local.StaticOf(uid)
	if e := p.pods[static]; found && e != nil {
		return e.withStatus(), true
	}
	return nil, false
}

// LogDir is the folder of a pod's logs.
func (p *Pods) LogDir(pod *v1.Pod) string { return p.Engine.Config.PodLogDirectory(pod) }

// Healthy is why pods are not gone on with, nil if all are: no pod waits for another,
// so that each is looked at.
func (p *Pods) Healthy() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var unhealthy []error
	for _, e := range p.pods {
		if e.life == nil {
			continue
		}
		if waits := e.life.worker.Behind(); waits >= standstill {
			unhealthy = append(unhealthy, fmt.Errorf("pod %s has not been gone on with for %s", e.name, waits.Round(time.Second)))
		}
		if err := e.life.worker.Unsaved(); err != nil {
			unhealthy = append(unhealthy, fmt.Errorf("the state of pod %s can't be saved: %w", e.name, err))
		}
	}
	slices.SortFunc(unhealthy, func(a, b error) int { return cmp.Compare(a.Error(), b.Error()) })
	return errors.Join(unhealthy...)
}

// withStatus is the pod with the status that was published last.
func (e *pod) withStatus() *v1.Pod {
	pod := *e.newest
	if e.status.Phase != "" {
		pod.Status = e.status
	}
	return &pod
}

// Census is where each pod stands, for metrics (B-WRK-26).
func (p *Pods) Census() []metrics.Pod {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := make([]metrics.Pod, 0, len(p.pods))
	for _, e := range p.pods {
		status := e.status
		list = append(list, metrics.Pod{
			Status: &status, Static: e.origin == source.OriginFile || e.origin == source.OriginHTTP,
			Desired: e.wanted, Runtime: e.origin == originRuntime, Lifecycle: e.lifecycle(),
		})
	}
	return list
}

// lifecycle is how far a pod has come, as the kubelet tells it of its workers.
func (e *pod) lifecycle() string {
	switch {
	case e.over:
		return "terminated"
	case !e.begun:
		return ""
	case e.newest.DeletionTimestamp != nil, terminal(e.status.Phase), e.origin == originRuntime, e.life != nil && (e.life.leaving || !e.life.evicted.IsZero()):
		return "terminating"
	}
	return "sync"
}
