package manifest

import (
	v1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/api/equality"
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
	for _, c := range in.classes {
		fillMetadata(&c.typed.ObjectMeta, "", in.options.Now)
		invalid := judged(c.typed, nodeconversion.Convert_v1_RuntimeClass_To_node_RuntimeClass, nodevalidation.ValidateRuntimeClass)
		in.errs = append(in.errs, c.object.fieldErrors(invalid)...)
		in.errs = append(in.errs, in.unique(c.object, &c.typed.ObjectMeta)...)
		if c.typed.Scheduling != nil {
			in.warnings = append(in.warnings, c.object.warning("", "ignored: scheduling (%s)", oneMachine.reason))
		}
	}
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
