package pods

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/roster"
)

// Pods are those that the sources want and those that have not ended yet, each
// with its current status, by namespace and name. They must not be changed.
func (s *Shell) Pods() []*v1.Pod {
	var list []*v1.Pod
	for _, view := range s.Views() {
		if view.Source != roster.Runtime {
			list = append(list, view.Pod)
		}
	}
	return list
}

// Views are all pods, where each stands and its current status.
func (s *Shell) Views() (list []roster.View) {
	s.ask(func(m *roster.Machine) { list = m.Pods() })
	return list
}

// Pod is the pod of that name; if there are several, the wanted one. A static pod has
// the name of its mirror pod.
func (s *Shell) Pod(namespace, name string) (pod *v1.Pod, found bool) {
	s.ask(func(m *roster.Machine) {
		var view roster.View
		view, found = m.Pod(namespace, name)
		pod = view.Pod
	})
	return pod, found
}

// PodByUID is the pod with that UID, or the static pod whose mirror pod has it.
func (s *Shell) PodByUID(uid types.UID) (pod *v1.Pod, found bool) {
	static, isMirror := types.UID(""), false
	if s.Local.StaticOf != nil {
		static, isMirror = s.Local.StaticOf(uid)
	}
	s.ask(func(m *roster.Machine) {
		view, there := m.PodByUID(uid)
		if !there && isMirror {
			view, there = m.PodByUID(static)
		}
		pod, found = view.Pod, there
	})
	return pod, found
}

// Standstill is how long a worker may leave its mailbox unhandled before it counts as
// unhealthy (A-SYNC-11).
const Standstill = 5 * time.Minute

func (s *Shell) LogDir(pod *v1.Pod) string { return s.Engine.Config.PodLogDirectory(pod) }

// StandsStill says which pods make no progress; nil: all do. The goroutines that lead pods never
// block, so one that does not handle its mailbox hangs, and only a restart of lifepod helps.
func (s *Shell) StandsStill() error {
	var unhealthy []error
	if waits := s.mail.Behind(); waits >= Standstill {
		unhealthy = append(unhealthy, fmt.Errorf("no pod has been begun or ended for %s", waits.Round(time.Second)))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.lives {
		pod := name(l.Worker.Pod())
		if waits := l.Worker.Behind(); waits >= Standstill {
			unhealthy = append(unhealthy, fmt.Errorf("pod %s has not been gone on with for %s", pod, waits.Round(time.Second)))
		}
	}
	return inOrder(unhealthy)
}

// Healthy says which pods make no progress, or would not outlive lifepod; nil: none. It checks
// each pod, as no pod waits for another.
func (s *Shell) Healthy() error {
	unhealthy := []error{s.StandsStill()}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.lives {
		if err := l.Worker.Unsaved(); err != nil {
			unhealthy = append(unhealthy, fmt.Errorf("the state of pod %s can't be saved: %w", name(l.Worker.Pod()), err))
		}
	}
	return inOrder(unhealthy[1:], unhealthy[0])
}

// inOrder joins errors about pods in the order of their texts, after others.
func inOrder(ofPods []error, others ...error) error {
	slices.SortFunc(ofPods, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(append(others, ofPods...)...)
}
