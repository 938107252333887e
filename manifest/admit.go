package manifest

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/uuid"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	podutil "k8s.io/kubernetes/pkg/api/pod"
	"k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/kubernetes/pkg/apis/core/helper/qos"
	corev1 "k8s.io/kubernetes/pkg/apis/core/v1"
	"k8s.io/kubernetes/pkg/apis/core/validation"
	"k8s.io/kubernetes/pkg/capabilities"

	"github.com/lifepod/lifepod/internal/yamlsyntax"
)

// admitPod does to a Pod what an API server does on create: defaults, prepares and validates it
// (A-API-1, A-API-2, A-API-3, A-API-5), by the same code.
func admitPod(pod *v1.Pod) (field.ErrorList, []string) {
	capabilities.Setup(true, 0) // privileged containers are allowed, as with every distribution's API server
	if pod.Spec.ServiceAccountName == "" && pod.Spec.DeprecatedServiceAccount == "" {
		pod.Spec.ServiceAccountName = "default" // what the ServiceAccount admission plugin does
	}
	corev1.SetObjectDefaults_Pod(pod)
	internal := &core.Pod{}
	if err := corev1.Convert_v1_Pod_To_core_Pod(pod, internal, nil); err != nil {
		return field.ErrorList{field.InternalError(nil, err)}, nil
	}
	internal.Generation = 1
	return admitInternal(pod, internal)
}

// admitInternal is the second half, for a Pod that has its defaults: internal becomes pod.
func admitInternal(pod *v1.Pod, internal *core.Pod) (field.ErrorList, []string) {
	podutil.DropDisabledPodFields(internal, stopSignalInUse())
	podutil.DefaultPodLevelResources(internal)
	internal.Status = core.PodStatus{Phase: core.PodPending}
	internal.Status.QOSClass = qos.GetPodQOS(internal)

	options := podutil.GetValidationOptionsFromPodSpecAndMeta(&internal.Spec, nil, &internal.ObjectMeta, nil)
	options.ResourceIsPod = true
	showOwnActions := hideOwnActions(&internal.Spec)
	errs := append(nameOwnActions(validation.ValidatePodCreate(internal, options)), checkRestartAnnotations(pod)...)
	errs = append(errs, checkGroupAnnotations(pod)...)
	var warnings []string
	if len(errs) == 0 {
		warnings = admissionWarnings(internal)
	}
	showOwnActions()
	admitted := v1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}}
	if err := corev1.Convert_core_Pod_To_v1_Pod(internal, &admitted, nil); err != nil {
		return field.ErrorList{field.InternalError(nil, err)}, nil
	}
	*pod = admitted
	return errs, warnings
}

// stopSignalInUse is a Pod that has what is off in Kubernetes 1.37 and on in lifepod: an API server
// keeps a field that a feature gate would drop if the Pod before has used it (B-SIG-1).
func stopSignalInUse() *core.Pod {
	signal := core.SIGTERM
	return &core.Pod{Spec: core.PodSpec{Containers: []core.Container{{Lifecycle: &core.Lifecycle{StopSignal: &signal}}}}}
}

// admissionWarnings are the warnings that kubectl shows for a Pod that is accepted.
func admissionWarnings(pod *core.Pod) (warnings []string) {
	if msgs := utilvalidation.IsDNS1123Label(pod.Name); len(msgs) > 0 {
		warnings = append(warnings, "metadata.name: the pod's hostname is made of it, a DNS label is recommended: "+strings.Join(msgs, "; "))
	}
	warnings = append(warnings, portWarnings(&pod.Spec)...)
	return append(warnings, podutil.GetWarningsForPod(context.Background(), pod, nil)...)
}

// judged is what Kubernetes' validation says of an object, for which it has a form of its own.
func judged[V, I any](object *V, convert func(*V, *I, conversion.Scope) error, validate func(*I) field.ErrorList) field.ErrorList {
	internal := new(I)
	if err := convert(object, internal, nil); err != nil {
		return field.ErrorList{field.InternalError(nil, err)}
	}
	return validate(internal)
}

func admitConfigMap(configMap *v1.ConfigMap) field.ErrorList {
	corev1.SetObjectDefaults_ConfigMap(configMap)
	return judged(configMap, corev1.Convert_v1_ConfigMap_To_core_ConfigMap, validation.ValidateConfigMap)
}

// admitSecret does the same to a Secret; its stringData moves into its data.
func admitSecret(secret *v1.Secret) field.ErrorList {
	corev1.SetObjectDefaults_Secret(secret)
	return judged(secret, corev1.Convert_v1_Secret_To_core_Secret, func(internal *core.Secret) field.ErrorList {
		secret.Data, secret.StringData = internal.Data, nil
		return validation.ValidateSecret(internal)
	})
}

// fillMetadata sets the metadata that a server sets on create.
func fillMetadata(meta *metav1.ObjectMeta, namespace string, now time.Time) {
	meta.Namespace = cmp.Or(meta.Namespace, namespace)
	meta.UID = uuid.NewUUID()
	meta.CreationTimestamp = metav1.NewTime(now.Truncate(time.Second))
	if meta.Name == "" && meta.GenerateName != "" {
		meta.Name = generatedName(meta.GenerateName)
	}
}

// generatedName is the name an API server gives for a generateName: five random letters or digits more,
// 63 in all.
func generatedName(base string) string {
	const randomLength, maxLength = 5, 63
	return fmt.Sprintf("%s%s", base[:min(len(base), maxLength-randomLength)], rand.String(randomLength))
}

// fieldErrors gives the errors of Kubernetes' validation their place in the file.
func (o *object) fieldErrors(list field.ErrorList) (errs []*Error) {
	for _, e := range list {
		want := ""
		if text, ok := e.BadValue.(string); ok {
			want = yamlsyntax.Hint(text)
		}
		errs = append(errs, o.errorf(e.Field, want, "%s", e.ErrorBody()))
	}
	return errs
}
