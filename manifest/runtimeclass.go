package manifest

import (
	v1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kubernetes/pkg/apis/node"
	nodeconversion "k8s.io/kubernetes/pkg/apis/node/v1"
	nodevalidation "k8s.io/kubernetes/pkg/apis/node/validation"
)

// runtimeClassVersion is the API that RuntimeClasses belong to.
const runtimeClassVersion = "node.k8s.io/v1"

// classInput is a RuntimeClass and where it comes from.
type classInput struct {
	object *object
	typed  *nodev1.RuntimeClass
}

func (in *input) readClass(o *object) []*Error {
	c := classInput{object: o, typed: &nodev1.RuntimeClass{}}
	in.classes = append(in.classes, c)
	return o.decode(c.typed)
}

// admitClasses completes and checks the RuntimeClasses.
func (in *input) admitClasses() {
	first := map[string]classInput{}
	for _, c := range in.classes {
		fillMetadata(&c.typed.ObjectMeta, "", in.options.Now)
		in.errs = append(in.errs, c.object.fieldErrors(validateClass(c.typed))...)
		if other, found := first[c.typed.Name]; found {
			in.errs = append(in.errs, c.object.errorf("metadata.name", "rename one or remove it", "there is another RuntimeClass %q in %s", c.typed.Name, other.object.place()))
			continue
		}
		first[c.typed.Name] = c
		if c.typed.Scheduling != nil {
			in.warnings = append(in.warnings, c.object.warning("", "ignored: scheduling (%s)", oneMachine.reason))
		}
	}
}

func validateClass(class *nodev1.RuntimeClass) field.ErrorList {
	internal := &node.RuntimeClass{}
	if err := nodeconversion.Convert_v1_RuntimeClass_To_node_RuntimeClass(class, internal, nil); err != nil {
		return field.ErrorList{field.InternalError(nil, err)}
	}
	return nodevalidation.ValidateRuntimeClass(internal)
}

// setOverhead gives the Pod the overhead of its RuntimeClass, as the RuntimeClass admission plugin
// does (KEP-688). A class that is not among the documents is the runtime's own to know, and so is the
// overhead then.
func (in *input) setOverhead(o *object, pod *v1.Pod) {
	refuse := func(want, problem string) {
		in.errs = append(in.errs, o.errorf("spec.overhead", want, "%s", problem))
	}
	if pod.Spec.RuntimeClassName == nil {
		if len(pod.Spec.Overhead) > 0 {
			refuse("remove it, or set runtimeClassName", "Pod Overhead set without corresponding RuntimeClass defined Overhead")
		}
		return
	}
	for _, c := range in.classes {
		if c.typed.Name != *pod.Spec.RuntimeClassName {
			continue
		}
		var overhead v1.ResourceList
		if c.typed.Overhead != nil {
			overhead = c.typed.Overhead.PodFixed
		}
		if len(pod.Spec.Overhead) > 0 && !equality.Semantic.DeepEqual(overhead, pod.Spec.Overhead) {
			refuse("remove it: the Pod gets that of the RuntimeClass in "+c.object.place(), "Pod's Overhead doesn't match RuntimeClass's defined Overhead")
		}
		pod.Spec.Overhead = overhead.DeepCopy()
	}
}
