package control

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/lifepod/lifepod/lifecycle"
)

// admit changes the pod's spec as an API server would, and tells the worker
// before another change can come.
func (s *Server) admit(w http.ResponseWriter, change func(pod *v1.Pod) (*v1.Pod, error), fact func() lifecycle.Fact) error {
	err := s.Object.change(func(pod *v1.Pod) error {
		if err := living(pod); err != nil {
			return err
		}
		next, err := change(pod)
		if err != nil {
			return err
		}
		if next == nil {
			return errUnchanged
		}
		pod.Spec, pod.Generation = next.Spec, next.Generation
		s.Post(fact())
		return nil
	})
	if err != nil && !errors.Is(err, errUnchanged) {
		return err
	}
	answer(w, http.StatusOK, s.Object.Pod())
	return nil
}

// addEphemeralContainer puts one more container into the pod (A-ACT-5).
func (s *Server) addEphemeralContainer(w http.ResponseWriter, r *http.Request) error {
	var c v1.EphemeralContainer
	if err := read(r, &c); err != nil {
		return err
	}
	return s.admit(w, func(pod *v1.Pod) (*v1.Pod, error) {
		next, err := s.WithEphemeralContainer(pod, c)
		if err != nil {
			return nil, invalid(err)
		}
		c = next.Spec.EphemeralContainers[len(next.Spec.EphemeralContainers)-1] // with its defaults
		return next, nil
	}, func() lifecycle.Fact { return lifecycle.EphemeralContainerAdded{Container: c} })
}

// resize gives the pod as a whole and containers other resources (KEP-5419, KEP-1287).
func (s *Server) resize(w http.ResponseWriter, r *http.Request) error {
	requested := &v1.Pod{}
	if err := read(r, requested); err != nil {
		return err
	}
	containers := slices.Concat(requested.Spec.InitContainers, requested.Spec.Containers)
	if len(containers) == 0 && requested.Spec.Resources == nil {
		return badRequest("nothing to resize: spec.containers and spec.resources are empty")
	}
	var fact lifecycle.ResizeRequested
	return s.admit(w, func(pod *v1.Pod) (*v1.Pod, error) {
		for _, c := range containers {
			if err := known(pod, c.Name); err != nil {
				return nil, err
			}
		}
		next, err := s.WithResources(pod, requested)
		if err != nil {
			return nil, invalid(err)
		}
		if next.Generation == pod.Generation {
			return nil, nil // it has them already
		}
		fact.Pod = next.Spec.Resources.DeepCopy()
		for _, c := range containers {
			fact.Containers = append(fact.Containers, lifecycle.ContainerResources{Name: c.Name, Resources: ResourcesOf(next, c.Name)})
		}
		return next, nil
	}, func() lifecycle.Fact { return fact })
}

// ResourcesOf are the resources of a regular or init container, or those of the pod as a
// whole if no container is named.
func ResourcesOf(pod *v1.Pod, container string) v1.ResourceRequirements {
	if container == "" && pod.Spec.Resources != nil {
		return *pod.Spec.Resources.DeepCopy()
	}
	for _, list := range [][]v1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for _, c := range list {
			if c.Name == container {
				return *c.Resources.DeepCopy()
			}
		}
	}
	return v1.ResourceRequirements{}
}

// setCondition sets a condition that is not the node's own, such as one that
// readinessGates names (A-COND-6); without a status it is removed.
func (s *Server) setCondition(w http.ResponseWriter, r *http.Request) error {
	var c v1.PodCondition
	if err := read(r, &c); err != nil {
		return err
	}
	pod := s.Object.Pod()
	if err := living(pod); err != nil {
		return err
	}
	if problems := validation.IsQualifiedName(string(c.Type)); len(problems) > 0 {
		return badRequest("condition type %q: %s", c.Type, problems[0])
	}
	if lifecycle.OwnsCondition(c.Type) {
		return refuse(http.StatusForbidden, metav1.StatusReasonForbidden, "condition %s is lifepod's own and cannot be set", c.Type)
	}
	switch c.Status {
	case "", v1.ConditionTrue, v1.ConditionFalse, v1.ConditionUnknown:
	default:
		return badRequest("condition %s: status %q: want True, False or Unknown", c.Type, c.Status)
	}
	c.LastTransitionTime = metav1.NewTime(time.Now().Truncate(time.Second))
	for _, old := range pod.Status.Conditions {
		if old.Type == c.Type && old.Status == c.Status {
			c.LastTransitionTime = old.LastTransitionTime
		}
	}
	s.Post(lifecycle.ConditionSet{Condition: c})
	answer(w, http.StatusOK, pod)
	return nil
}

// stop asks for the pod's end, or for a sooner one (B-WRK-9).
func (s *Server) stop(w http.ResponseWriter, r *http.Request) error {
	var options metav1.DeleteOptions
	if err := read(r, &options); err != nil {
		return err
	}
	grace := options.GracePeriodSeconds
	if grace != nil && *grace < 0 {
		return badRequest("gracePeriodSeconds %d: want 0 or more", *grace)
	}
	request := StopRequest(grace)
	s.Object.StopRequested(time.Now(), request)
	s.Post(request)
	answer(w, http.StatusOK, s.Object.Pod())
	return nil
}

// StopRequest is the request of lifepod stop: a nil grace is the pod's own, 0 kills.
func StopRequest(graceSeconds *int64) lifecycle.StopRequested {
	if graceSeconds != nil && *graceSeconds == 0 {
		return lifecycle.StopRequested{Force: true, Because: lifecycle.Because{Text: "lifepod stop --force"}}
	}
	return lifecycle.StopRequested{GraceSeconds: graceSeconds, Because: lifecycle.Because{Text: "lifepod stop"}}
}

// restart asks for a restart without an exit: of one container, or of all in
// place (KEP-5532).
func (s *Server) restart(w http.ResponseWriter, r *http.Request) error {
	pod := s.Object.Pod()
	if err := living(pod); err != nil {
		return err
	}
	container := r.URL.Query().Get("container")
	if container != "" {
		if err := restartable(pod, container); err != nil {
			return err
		}
		if flag(r, "graceful") {
			return badRequest("graceful is for the restart of all containers: a single one is always stopped gracefully")
		}
	}
	s.Post(lifecycle.RestartRequested{Container: container, Graceful: flag(r, "graceful"), Because: lifecycle.Because{Text: "lifepod restart"}})
	answer(w, http.StatusOK, pod)
	return nil
}

// living refuses what cannot be done to a pod that is ending.
func living(pod *v1.Pod) error {
	switch {
	case pod.DeletionTimestamp != nil:
		return conflict("pod %s is being stopped", pod.Name)
	case lifecycle.Terminal(pod.Status.Phase):
		return conflict("pod %s has ended, its phase is %s", pod.Name, pod.Status.Phase)
	}
	return nil
}

// Restartable are the containers that can be restarted by themselves: regular
// ones and sidecars.
func Restartable(pod *v1.Pod) (names []string) {
	for _, c := range pod.Spec.Containers {
		names = append(names, c.Name)
	}
	for _, c := range pod.Spec.InitContainers {
		if lifecycle.IsSidecar(&c) {
			names = append(names, c.Name)
		}
	}
	return names
}

func restartable(pod *v1.Pod, container string) error {
	if err := known(pod, container); err != nil {
		return err
	}
	if names := Restartable(pod); !slices.Contains(names, container) {
		return badRequest("container %s cannot be restarted by itself: it is an init or an ephemeral container; want one of %s, or all", container, strings.Join(names, ", "))
	}
	return nil
}
