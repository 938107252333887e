package manifest

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"hash/fnv"
	"regexp"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	podutil "k8s.io/kubernetes/pkg/api/pod"
	"k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/kubernetes/pkg/apis/core/helper"
	corev1 "k8s.io/kubernetes/pkg/apis/core/v1"
	"k8s.io/kubernetes/pkg/capabilities"
	"k8s.io/kubernetes/pkg/util/hash"
)

// ConfigHashAnnotation of a static pod is the hash of its manifest, which is its UID unless the manifest
// has one of its own (B-STA-2).
const ConfigHashAnnotation = "kubernetes.io/config.hash"

// StaticOptions say on which node and from where static pods are.
type StaticOptions struct {
	// NodeName becomes part of the pods' names and UIDs.
	NodeName string
	// FromURL means that the Source's name is a URL, not a file: then there are only Pods in it, and
	// they don't tolerate all NoExecute taints, as upstream.
	FromURL bool
	// Strict refuses fields that a Pod does not have.
	Strict bool
}

// StaticSet is what one manifest of static pods holds.
type StaticSet struct {
	// Pods have their final names and UIDs, and the annotation ConfigHashAnnotation.
	Pods []*v1.Pod
	// ConfigMaps and Secrets stand beside them.
	ConfigMaps []*v1.ConfigMap
	Secrets    []*v1.Secret
	// Warnings are lines for the user, each complete in itself.
	Warnings []string
}

// ReadStatic reads a manifest of static pods. Pods come out as the kubelet makes them of the same file
// (B-STA-2), down to the UID. An error is an *Error.
//
// As there, unknown fields of a Pod are no error (but a warning) unless Strict is set, so that a manifest which the kubelet has
// taken runs on. Other than there, every document of a file is read, and ConfigMaps and Secrets may
// stand among them; whether a Pod finds its own is said by Unsatisfied, because they may be in other files.
func ReadStatic(s Source, o StaticOptions) (*StaticSet, error) {
	in := &staticInput{input: newInput([]Source{s}, Options{}), options: o}
	in.readAll(in.readObject)
	if in.errs == nil {
		in.admit()
	}
	if in.errs == nil && len(in.pods) == 0 && len(in.data) == 0 && !o.FromURL {
		return nil, &Error{File: s.Name, Problem: "there is no object in it", Want: wantStatic}
	}
	if in.errs != nil {
		return nil, in.failure()
	}
	return in.set(), nil
}

const (
	wantStatic    = "should be Pods, and the ConfigMaps and Secrets that they use"
	wantStaticURL = "should be a Pod or a PodList"
)

// staticInput is what has been read of a manifest so far.
type staticInput struct {
	*input
	options StaticOptions
}

func (in *staticInput) readObject(o *object) []*Error {
	in.warnings = append(in.warnings, o.dropServerOwned("metadata.uid", "spec.nodeName")...)
	switch {
	case o.kind == "Pod":
	case in.options.FromURL:
		return []*Error{o.errorf("kind", wantStaticURL, "%s is no static pod", o.kind)}
	case o.kind == "ConfigMap", o.kind == "Secret":
		return in.readData(o)
	default:
		return []*Error{o.errorf("kind", wantStatic, "%s can't stand beside static pods", o.kind)}
	}
	in.warnings = append(in.warnings, o.readOnExit()...)
	pod := &v1.Pod{}
	in.pods = append(in.pods, podInput{object: o, typed: pod})
	var errs []*Error
	for _, e := range o.decode(pod) {
		if e.Problem != unknownField || in.options.Strict {
			errs = append(errs, e)
			continue
		}
		in.warnings = append(in.warnings, e)
	}
	return errs
}

// admit completes and checks the Pods, then what stands beside them.
func (in *staticInput) admit() {
	for _, p := range in.pods {
		in.admitPod(p)
	}
	in.admitData(in.namespace())
}

func (in *staticInput) admitPod(p podInput) {
	o, pod := p.object, p.typed
	if pod.Name == "" {
		in.errs = append(in.errs, o.errorf("metadata.name", "a static pod has one; the node's name is appended to it", "missing"))
		return
	}
	if pod.UID != "" && !safeUID.MatchString(string(pod.UID)) {
		in.errs = append(in.errs, o.errorf("metadata.uid", "should be letters, digits and -, or be left out", "%q can't be the name of a folder", pod.UID))
		return
	}
	unsupported, _ := checkSupport(o, pod)
	invalid, warnings := admitStatic(pod, in.sources[0].Name, in.options)
	for _, w := range warnings {
		path, text, _ := strings.Cut(w, ": ")
		in.warnings = append(in.warnings, o.warning(path, "%s", text))
	}
	in.errs = append(in.errs, o.fieldErrors(invalid)...)
	in.errs = append(in.errs, unsupported...)
}

// safeUID is what may be part of the paths of a pod.
var safeUID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$`)

// admitStatic does to a Pod what the kubelet does to one of its manifests: defaults, name, UID,
// validation. It may not use what only an API server gives (B-STA-9).
func admitStatic(pod *v1.Pod, source string, o StaticOptions) (field.ErrorList, []string) {
	capabilities.Setup(true, 0)
	corev1.SetObjectDefaults_Pod(pod)
	internal := &core.Pod{}
	if err := corev1.Convert_v1_Pod_To_core_Pod(pod, internal, nil); err != nil {
		return field.ErrorList{field.InternalError(nil, err)}, nil
	}
	completeStatic(internal, source, o)
	errs := apiReference(pod)
	invalid, warnings := admitInternal(pod, internal)
	return append(errs, invalid...), warnings
}

// completeStatic gives a Pod its identity on the node (B-STA-2).
func completeStatic(pod *core.Pod, source string, o StaticOptions) {
	if pod.UID == "" {
		pod.UID = staticUID(pod, source, o)
	}
	pod.Name = fmt.Sprintf("%s-%s", pod.Name, strings.ToLower(o.NodeName))
	pod.Namespace = cmp.Or(pod.Namespace, metav1.NamespaceDefault)
	pod.Spec.NodeName = o.NodeName
	metav1.SetMetaDataAnnotation(&pod.ObjectMeta, ConfigHashAnnotation, string(pod.UID))
	if !o.FromURL {
		helper.AddOrUpdateTolerationInPod(pod, &core.Toleration{Operator: core.TolerationOpExists, Effect: core.TaintEffectNoExecute})
	}
}

// staticUID is the kubelet's for the same manifest: any change of it makes another.
func staticUID(pod *core.Pod, source string, o StaticOptions) types.UID {
	sum := fnv.New128a()
	hash.DeepHashObject(sum, pod) // which resets it
	if o.FromURL {
		fmt.Fprintf(sum, "url:%s", source)
	} else {
		fmt.Fprintf(sum, "host:%s", o.NodeName)
		fmt.Fprintf(sum, "file:%s", source)
	}
	return types.UID(hex.EncodeToString(sum.Sum(nil)))
}

// apiReference is the error of a Pod that needs an API server for more than ConfigMaps and Secrets,
// which stand beside it.
func apiReference(pod *v1.Pod) field.ErrorList {
	stripped, _ := WithoutData(pod)
	internal := &core.Pod{}
	if err := corev1.Convert_v1_Pod_To_core_Pod(stripped, internal, nil); err != nil {
		return field.ErrorList{field.InternalError(nil, err)}
	}
	_, resource, err := podutil.HasAPIObjectReference(internal)
	if err != nil {
		return field.ErrorList{field.Forbidden(field.NewPath("spec"), err.Error())}
	}
	if resource != "" {
		return field.ErrorList{field.Forbidden(field.NewPath("spec"), "static pods may not reference "+resource)}
	}
	return nil
}

func (in *staticInput) set() *StaticSet {
	set := &StaticSet{Warnings: in.warningLines()}
	for _, p := range in.pods {
		set.Pods = append(set.Pods, p.typed)
	}
	for _, d := range in.data {
		if d.secret != nil {
			set.Secrets = append(set.Secrets, d.secret)
		} else {
			set.ConfigMaps = append(set.ConfigMaps, d.configMap)
		}
	}
	return set
}
