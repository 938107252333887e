package manifest

import (
	"fmt"
	"reflect"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"
	podutil "k8s.io/kubernetes/pkg/api/pod"
	"k8s.io/kubernetes/pkg/apis/core"
	corev1 "k8s.io/kubernetes/pkg/apis/core/v1"
	"k8s.io/kubernetes/pkg/apis/core/validation"
)

// WithEphemeralContainer is a Pod that runs with one more ephemeral container, defaulted and validated as
// an API server does it, by the same code (A-ACT-5). The Pod must have come from Read, with its status as
// last published; it is not changed. The error is an *Error without a place in a file.
func WithEphemeralContainer(pod *v1.Pod, c v1.EphemeralContainer) (*v1.Pod, error) {
	changed := pod.DeepCopy()
	changed.Spec.EphemeralContainers = append(changed.Spec.EphemeralContainers, *c.DeepCopy())
	path := field.NewPath("spec", "ephemeralContainers").Index(len(pod.Spec.EphemeralContainers))
	s := &supportOf{object: &object{document: &parsed{}}, ignored: map[string][]string{}}
	s.visit(path, reflect.ValueOf(v1.Container(c.EphemeralContainerCommon)))
	if problem, want := invalidImage(c.Image); problem != "" {
		s.errs = append(s.errs, &Error{Field: path.Child("image").String(), Problem: problem, Want: want})
	}
	return update(pod, changed, validation.ValidatePodEphemeralContainersUpdate, s.errs...)
}

// WithResources is a Pod that runs with other cpu and memory (A-ACT-15, A-ACT-16), validated as an API
// server does it, by the same code: nothing else may change, nothing may be taken away, and the QoS class
// stays (A-API-3). Of what is requested only the resources of the pod as a whole and the containers' names
// and resources count; a quantity that is not given stays as it is. The Pod must have come from Read, with its status as last published; it is not
// changed. The error is an *Error without a place in a file.
func WithResources(pod, requested *v1.Pod) (*v1.Pod, error) {
	changed := pod.DeepCopy()
	if own := requested.Spec.Resources; own != nil {
		if changed.Spec.Resources == nil {
			changed.Spec.Resources = &v1.ResourceRequirements{}
		}
		changed.Spec.Resources.Limits = mergedQuantities(changed.Spec.Resources.Limits, own.Limits)
		changed.Spec.Resources.Requests = mergedQuantities(changed.Spec.Resources.Requests, own.Requests)
	}
	errs := mergeResources(changed.Spec.InitContainers, requested.Spec.InitContainers, "spec.initContainers")
	errs = append(errs, mergeResources(changed.Spec.Containers, requested.Spec.Containers, "spec.containers")...)
	if errs != nil {
		return nil, joined(errs)
	}
	return update(pod, changed, validation.ValidatePodResize)
}

// mergeResources puts the quantities of some containers over those of the same names.
func mergeResources(into, from []v1.Container, path string) (errs []*Error) {
	for i := range from {
		c := containerNamed(into, from[i].Name)
		if c == nil {
			errs = append(errs, &Error{Field: fmt.Sprintf("%s[%d].name", path, i), Problem: fmt.Sprintf("the Pod has no container %q there", from[i].Name)})
			continue
		}
		c.Resources.Limits = mergedQuantities(c.Resources.Limits, from[i].Resources.Limits)
		c.Resources.Requests = mergedQuantities(c.Resources.Requests, from[i].Resources.Requests)
	}
	return errs
}

func containerNamed(list []v1.Container, name string) *v1.Container {
	for i := range list {
		if list[i].Name == name {
			return &list[i]
		}
	}
	return nil
}

func mergedQuantities(into, from v1.ResourceList) v1.ResourceList {
	if into == nil && len(from) > 0 {
		into = v1.ResourceList{}
	}
	for name, quantity := range from {
		into[name] = quantity.DeepCopy()
	}
	return into
}

type validateUpdate func(changed, old *core.Pod, options validation.PodValidationOptions) field.ErrorList

// update does what an API server does with a change of a Pod. What lifepod refuses besides is also.
func update(old, changed *v1.Pod, validate validateUpdate, also ...*Error) (*v1.Pod, error) {
	corev1.SetObjectDefaults_Pod(changed)
	was, is := &core.Pod{}, &core.Pod{}
	if err := corev1.Convert_v1_Pod_To_core_Pod(old.DeepCopy(), was, nil); err != nil {
		return nil, &Error{Problem: err.Error()}
	}
	if err := corev1.Convert_v1_Pod_To_core_Pod(changed, is, nil); err != nil {
		return nil, &Error{Problem: err.Error()}
	}
	podutil.DefaultPodLevelResources(is)
	was.ResourceVersion, is.ResourceVersion = "1", "1" // whoever keeps the Pod may have none
	podutil.DropDisabledPodFields(is, was)
	options := podutil.GetValidationOptionsFromPodSpecAndMeta(&is.Spec, &was.Spec, &is.ObjectMeta, &was.ObjectMeta)
	options.ResourceIsPod = true
	var errs []*Error
	for _, e := range validate(is, was, options) {
		errs = append(errs, &Error{Field: e.Field, Problem: e.ErrorBody()})
	}
	if errs = append(errs, also...); errs != nil {
		return nil, joined(errs)
	}
	next := v1.Pod{TypeMeta: old.TypeMeta}
	if err := corev1.Convert_core_Pod_To_v1_Pod(is, &next, nil); err != nil {
		return nil, &Error{Problem: err.Error()}
	}
	next.ResourceVersion = old.ResourceVersion
	if !equality.Semantic.DeepEqual(next.Spec, old.Spec) {
		next.Generation++ // A-COND-11
	}
	return &next, nil
}

// joined makes one error of some, of which there is at least one.
func joined(errs []*Error) *Error {
	first := *errs[0]
	for _, e := range errs[1:min(len(errs), maxErrors)] {
		if e.Field != first.Field {
			first.Also = append(first.Also, e)
		}
	}
	return &first
}
