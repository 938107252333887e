package manifest

import (
	"fmt"
	"hash/fnv"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kubernetes/pkg/apis/core/validation"
	"k8s.io/kubernetes/pkg/util/hash"
	"k8s.io/utils/ptr"
)

// workloadKinds are the kinds that lifepod run makes the Pods of, as their controllers do: the API that each belongs to, and a
// new object of it.
var workloadKinds = map[string]struct {
	version string
	object  func() metav1.ObjectMetaAccessor
}{
	"Deployment":  {"apps/v1", func() metav1.ObjectMetaAccessor { return &appsv1.Deployment{} }},
	"ReplicaSet":  {"apps/v1", func() metav1.ObjectMetaAccessor { return &appsv1.ReplicaSet{} }},
	"StatefulSet": {"apps/v1", func() metav1.ObjectMetaAccessor { return &appsv1.StatefulSet{} }},
	"DaemonSet":   {"apps/v1", func() metav1.ObjectMetaAccessor { return &appsv1.DaemonSet{} }},
	"Job":         {"batch/v1", func() metav1.ObjectMetaAccessor { return &batchv1.Job{} }},
	"CronJob":     {"batch/v1", func() metav1.ObjectMetaAccessor { return &batchv1.CronJob{} }},
}

// mostReplicas is how many pods of a workload one machine may be asked for: its pod network has addresses for about so many.
const mostReplicas = 250

// Workload says how many Pods there are of a Deployment, ReplicaSet, StatefulSet or DaemonSet.
type Workload struct {
	Kind, Namespace, Name string
	Pods                  int
}

// workload is an object whose controller makes Pods of its template.
type workload struct {
	object   *object
	template *object // what stands below spec.template, as if it were a Pod
	typed    any
	meta     *metav1.ObjectMeta
	made     Workload
	job      *Job // nil: it is none
}

// readWorkload reads an object of workloadKinds; its Pods take its place once it is complete.
func (in *input) readWorkload(o *object) []*Error {
	w := &workload{object: o}
	spec := mapping(o.value, "spec")
	if o.kind == "CronJob" {
		spec = mapping(mapping(spec, "jobTemplate"), "spec")
	}
	prefix := o.prefix + w.specPath().Child("template").String() + "."
	w.template = &object{document: o.document, prefix: prefix, kind: "Pod", value: mapping(spec, "template")}
	in.warnings = append(in.warnings, w.template.dropServerOwned()...)
	in.warnings = append(in.warnings, w.template.readOnExit()...)
	object := workloadKinds[o.kind].object()
	w.typed, w.meta = object, object.GetObjectMeta().(*metav1.ObjectMeta) //nolint:forcetypeassert // ObjectMeta returns itself
	in.pods = append(in.pods, podInput{object: w.template, of: w})
	return o.decode(w.typed)
}

// expand puts the Pods of workloads in the place of each.
func (in *input) expand() {
	found := in.pods
	in.pods = nil
	for _, p := range found {
		if p.of == nil {
			in.pods = append(in.pods, p)
			continue
		}
		w := p.of
		errs := append(in.admitWorkload(w), in.unique(w.object, w.meta)...)
		in.errs = append(in.errs, errs...)
		switch {
		case errs != nil:
		case w.job != nil:
			in.pods = append(in.pods, w.jobPod())
		default:
			in.pods = append(in.pods, w.pods()...)
			in.workloads = append(in.workloads, w.made)
		}
	}
}

// admitWorkload completes and checks a workload, but for what its Pods are checked for.
func (in *input) admitWorkload(w *workload) []*Error {
	unsupported, warnings := checkFields(w.object, field.NewPath("spec"), reflect.ValueOf(w.typed).Elem().FieldByName("Spec"))
	in.warnings = append(in.warnings, warnings...)
	if cron, is := w.typed.(*batchv1.CronJob); is {
		errs, warnings := checkFields(w.object, w.specPath(), reflect.ValueOf(cron.Spec.JobTemplate.Spec))
		unsupported, in.warnings = append(unsupported, errs...), append(in.warnings, warnings...)
	}
	fillMetadata(w.meta, metav1.NamespaceDefault, in.options.Now)
	w.made = Workload{Kind: w.object.kind, Namespace: w.meta.Namespace, Name: w.meta.Name}
	errs := append(w.object.fieldErrors(validateWorkload(w.typed)), unsupported...)
	if job := w.jobOf(); job != nil {
		if errs == nil {
			errs = w.readyJob(job)
		}
		return errs
	}
	if replicas, _ := w.replicas(); replicas > mostReplicas {
		errs = append(errs, w.object.errorf("spec.replicas", fmt.Sprintf("should be at most %d", mostReplicas), "%d pods are too many for one machine", replicas))
	}
	if set, is := w.typed.(*appsv1.StatefulSet); is {
		in.warnings = append(in.warnings, w.claimWarnings(set)...)
	}
	return errs
}

// replicas are how many Pods the workload has, and its template.
func (w *workload) replicas() (int, *v1.PodTemplateSpec) {
	switch o := w.typed.(type) {
	case *appsv1.Deployment:
		return int(*o.Spec.Replicas), &o.Spec.Template
	case *appsv1.ReplicaSet:
		return int(*o.Spec.Replicas), &o.Spec.Template
	case *appsv1.StatefulSet:
		return int(*o.Spec.Replicas), &o.Spec.Template
	default:
		return 1, &w.typed.(*appsv1.DaemonSet).Spec.Template // there is one machine
	}
}

// pods are those that the workload's controller would make.
func (w *workload) pods() (list []podInput) {
	n, template := w.replicas()
	w.made.Pods = n
	before := ""
	for i := range n {
		pod := w.fromTemplate(template)
		after := ""
		switch o := w.typed.(type) {
		case *appsv1.Deployment:
			sum := templateHash(template)
			pod.Labels[appsv1.DefaultDeploymentUniqueLabelKey] = sum
			generateName(pod, o.Name+"-"+sum)
		case *appsv1.DaemonSet:
			pod.Labels[appsv1.ControllerRevisionHashLabelKey] = templateHash(template)
			generateName(pod, o.Name)
		case *appsv1.StatefulSet:
			giveOrdinal(pod, o, i)
			if o.Spec.PodManagementPolicy == appsv1.OrderedReadyPodManagement {
				after, before = before, pod.Name
			}
		default:
			generateName(pod, w.meta.Name)
		}
		list = append(list, podInput{object: w.template, typed: pod, of: w, after: after, copy: i > 0})
	}
	return list
}

// fromTemplate is a Pod of the template, without a name.
func (w *workload) fromTemplate(template *v1.PodTemplateSpec) *v1.Pod {
	pod := &v1.Pod{Spec: *template.Spec.DeepCopy()}
	pod.Namespace, pod.Labels, pod.Annotations = w.meta.Namespace, maps.Clone(template.Labels), maps.Clone(template.Annotations)
	if pod.Labels == nil {
		pod.Labels = map[string]string{}
	}
	return pod
}

// generateName has a Pod's name made of its controller's.
func generateName(pod *v1.Pod, controller string) {
	pod.GenerateName = controller + "-"
	if len(validation.ValidatePodName(pod.GenerateName, true)) > 0 {
		pod.GenerateName = controller
	}
}

// templateHash differs between templates, as in the names that Kubernetes' controllers give.
func templateHash(template *v1.PodTemplateSpec) string {
	sum := fnv.New32a()
	hash.DeepHashObject(sum, *template)
	return rand.SafeEncodeString(fmt.Sprint(sum.Sum32()))
}

// giveOrdinal gives a Pod of a StatefulSet its name, its place in the network and its claims.
func giveOrdinal(pod *v1.Pod, set *appsv1.StatefulSet, i int) {
	ordinal := i
	if set.Spec.Ordinals != nil {
		ordinal += int(set.Spec.Ordinals.Start)
	}
	pod.Name = fmt.Sprintf("%s-%d", set.Name, ordinal)
	pod.Spec.Hostname, pod.Spec.Subdomain = pod.Name, set.Spec.ServiceName
	pod.Labels[appsv1.StatefulSetPodNameLabel] = pod.Name
	pod.Labels[appsv1.PodIndexLabel] = strconv.Itoa(ordinal)
	var volumes []v1.Volume
	templates := map[string]bool{}
	for _, claim := range set.Spec.VolumeClaimTemplates {
		templates[claim.Name] = true
		source := &v1.PersistentVolumeClaimVolumeSource{ClaimName: claim.Name + "-" + pod.Name}
		volumes = append(volumes, v1.Volume{Name: claim.Name, VolumeSource: v1.VolumeSource{PersistentVolumeClaim: source}})
	}
	for _, v := range pod.Spec.Volumes {
		if !templates[v.Name] {
			volumes = append(volumes, v)
		}
	}
	pod.Spec.Volumes = volumes
}

// claimWarnings say what becomes of the claims of a StatefulSet.
func (w *workload) claimWarnings(set *appsv1.StatefulSet) (warnings []*Error) {
	for i := range set.Spec.VolumeClaimTemplates {
		path := field.NewPath("spec", "volumeClaimTemplates").Index(i).Child("spec")
		ignored := strings.Join(ignoredOfClaim(&set.Spec.VolumeClaimTemplates[i].Spec), ", ")
		warnings = append(warnings, w.object.warning(path.String(), "each pod's claim is a folder on this machine, which stays: %s", ignored))
	}
	return warnings
}

// ownClaim says whether the claim of a volume is made by the workload's templates.
func (w *workload) ownClaim(volume string) bool {
	if w == nil {
		return false
	}
	set, is := w.typed.(*appsv1.StatefulSet)
	if !is {
		return false
	}
	return slices.ContainsFunc(set.Spec.VolumeClaimTemplates, func(claim v1.PersistentVolumeClaim) bool { return claim.Name == volume })
}

// checkClaimTemplates refuses what of a StatefulSet's claims a folder can't do.
func checkClaimTemplates(set *appsv1.StatefulSet) (errs field.ErrorList) {
	for i := range set.Spec.VolumeClaimTemplates {
		spec := &set.Spec.VolumeClaimTemplates[i].Spec
		path := field.NewPath("spec", "volumeClaimTemplates").Index(i).Child("spec")
		if ptr.Deref(spec.VolumeMode, v1.PersistentVolumeFilesystem) != v1.PersistentVolumeFilesystem {
			errs = append(errs, field.Forbidden(path.Child("volumeMode"), "lifepod run makes a folder of a claim: use Filesystem, or leave it out"))
		}
		if spec.DataSource != nil || spec.DataSourceRef != nil {
			errs = append(errs, field.Forbidden(path, "there is nothing to copy from: lifepod run makes a folder of a claim"))
		}
	}
	return errs
}
