package manifest

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	podutil "k8s.io/kubernetes/pkg/api/pod"
	"k8s.io/kubernetes/pkg/apis/core"
	corev1 "k8s.io/kubernetes/pkg/apis/core/v1"
	"k8s.io/kubernetes/pkg/apis/core/validation"
)

// AddEphemeralContainer is the pod with one more ephemeral container, defaulted
// and checked as an API server does it, and a generation more. The error names
// the fields.
func AddEphemeralContainer(pod *v1.Pod, c *v1.EphemeralContainer) (*v1.Pod, error) {
	path := field.NewPath("spec", "ephemeralContainers").Index(len(pod.Spec.EphemeralContainers))
	walk := &supportOf{object: &object{document: &parsed{}}, ignored: map[string][]string{}}
	walk.structure(path, reflect.ValueOf(v1.Container(c.EphemeralContainerCommon)))
	if len(walk.errs) > 0 {
		return nil, &Error{Field: walk.errs[0].Field, Problem: walk.errs[0].Problem, Want: walk.errs[0].Want, Also: walk.errs[1:]}
	}
	next := pod.DeepCopy()
	next.Spec.EphemeralContainers = append(next.Spec.EphemeralContainers, *c.DeepCopy())
	return update(pod, next, validation.ValidatePodEphemeralContainersUpdate)
}

// Resize is the pod with other resources of some of its containers, by name,
// checked as an API server does it (KEP-1287), and a generation more; the same
// pod if they have these resources already.
func Resize(pod *v1.Pod, resources map[string]v1.ResourceRequirements) (*v1.Pod, error) {
	next := pod.DeepCopy()
	for _, list := range [][]v1.Container{next.Spec.InitContainers, next.Spec.Containers} {
		for i := range list {
			if r, ok := resources[list[i].Name]; ok {
				list[i].Resources = *r.DeepCopy()
			}
		}
	}
	return update(pod, next, validation.ValidatePodResize)
}

// update completes and checks a change of a pod by the API server's own code.
func update(old, next *v1.Pod, validate func(next, old *core.Pod, o validation.PodValidationOptions) field.ErrorList) (*v1.Pod, error) {
	corev1.SetObjectDefaults_Pod(next)
	was, is := &core.Pod{}, &core.Pod{}
	if err := corev1.Convert_v1_Pod_To_core_Pod(old.DeepCopy(), was, nil); err != nil {
		return nil, fmt.Errorf("convert the pod: %w", err)
	}
	if err := corev1.Convert_v1_Pod_To_core_Pod(next, is, nil); err != nil {
		return nil, fmt.Errorf("convert the pod: %w", err)
	}
	options := podutil.GetValidationOptionsFromPodSpecAndMeta(&is.Spec, &was.Spec, &is.ObjectMeta, &was.ObjectMeta)
	options.ResourceIsPod = true
	if errs := validate(is, was, options); len(errs) > 0 {
		return nil, updateError(errs)
	}
	if reflect.DeepEqual(was.Spec, is.Spec) {
		return old, nil
	}
	admitted := &v1.Pod{}
	if err := corev1.Convert_core_Pod_To_v1_Pod(is, admitted, nil); err != nil {
		return nil, fmt.Errorf("convert the pod: %w", err)
	}
	admitted.TypeMeta = old.TypeMeta
	admitted.Generation++
	return admitted, nil
}

// updateError tells each error once, the first one first.
func updateError(list field.ErrorList) error {
	var texts []string
	for _, e := range list {
		if text := strings.TrimSpace(e.Error()); !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	return fmt.Errorf("%s", strings.Join(texts, "; "))
}
