package manifest

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kubernetes/pkg/apis/batch"
	batchconversion "k8s.io/kubernetes/pkg/apis/batch/v1"
	batchvalidation "k8s.io/kubernetes/pkg/apis/batch/validation"
	"k8s.io/kubernetes/pkg/apis/core/validation"
	"k8s.io/utils/ptr"
)

// Job is a Job as an API server would have stored it, or the one of a CronJob, under its name.
type Job struct {
	Kind, Namespace, Name string
	Spec                  batchv1.JobSpec
	// Set has a Pod that stands for those of the Job.
	Set *Set
}

// Next is a new Pod of the Job, with what it uses; of an Indexed Job for a completion index.
func (j *Job) Next(index int) *Set {
	set := *j.Set
	pod := set.Pod.DeepCopy()
	pod.Name = ""
	if j.Indexed() {
		text := strconv.Itoa(index)
		pod.GenerateName = fmt.Sprintf("%s-%d-", j.Name, index)
		pod.Spec.Hostname = j.Name + "-" + text
		pod.Labels, pod.Annotations = maps.Clone(pod.Labels), maps.Clone(pod.Annotations)
		pod.Labels[batchv1.JobCompletionIndexAnnotation] = text
		metav1.SetMetaDataAnnotation(&pod.ObjectMeta, batchv1.JobCompletionIndexAnnotation, text)
	}
	fillMetadata(&pod.ObjectMeta, pod.Namespace, metav1.Now().Time)
	set.Pod = pod
	return &set
}

// Indexed says whether each completion has an index.
func (j *Job) Indexed() bool {
	return ptr.Deref(j.Spec.CompletionMode, batchv1.NonIndexedCompletion) == batchv1.IndexedCompletion
}

// jobOf is the Job that is to run, or whose CronJob is.
func (w *workload) jobOf() *batchv1.Job {
	switch o := w.typed.(type) {
	case *batchv1.Job:
		return o
	case *batchv1.CronJob:
		return &batchv1.Job{ObjectMeta: *o.ObjectMeta.DeepCopy(), Spec: *o.Spec.JobTemplate.Spec.DeepCopy()}
	}
	return nil
}

// specPath leads to the spec whose template the Pods are made of.
func (w *workload) specPath() *field.Path {
	if w.object.kind == "CronJob" {
		return field.NewPath("spec", "jobTemplate", "spec")
	}
	return field.NewPath("spec")
}

// validateCronJob does to a CronJob what an API server does on create.
func validateCronJob(o *batchv1.CronJob) field.ErrorList {
	batchconversion.SetObjectDefaults_CronJob(o)
	internal := &batch.CronJob{}
	err := batchconversion.Convert_v1_CronJob_To_batch_CronJob(o, internal, nil)
	return validateTemplate(err, &internal.Spec.JobTemplate.Spec.Template, func(options validation.PodValidationOptions) field.ErrorList {
		return batchvalidation.ValidateCronJobCreate(internal, options)
	})
}

// validateJob does so to a Job, whose Pods then have the labels by which it knows them.
func validateJob(o *batchv1.Job) field.ErrorList {
	batchconversion.SetObjectDefaults_Job(o)
	if !ptr.Deref(o.Spec.ManualSelector, false) {
		selectOwn(o)
	}
	internal := &batch.Job{}
	err := batchconversion.Convert_v1_Job_To_batch_Job(o, internal, nil)
	return validateTemplate(err, &internal.Spec.Template, func(options validation.PodValidationOptions) field.ErrorList {
		return batchvalidation.ValidateJobCreate(internal, batchvalidation.JobValidationOptions{PodValidationOptions: options, RequirePrefixedLabels: true})
	})
}

// selectOwn gives the Job a selector, and its template the labels for it, as an API server does.
func selectOwn(o *batchv1.Job) {
	labels := map[string]string{
		"job-name": o.Name, batchv1.JobNameLabel: o.Name, "controller-uid": string(o.UID), batchv1.ControllerUidLabel: string(o.UID),
	}
	maps.Copy(labels, o.Spec.Template.Labels)
	o.Spec.Template.Labels = labels
	if o.Spec.Selector == nil {
		o.Spec.Selector = &metav1.LabelSelector{}
	}
	if _, has := o.Spec.Selector.MatchLabels[batchv1.ControllerUidLabel]; !has {
		metav1.AddLabelToSelector(o.Spec.Selector, batchv1.ControllerUidLabel, string(o.UID))
	}
}

// indexVariable has the completion index in containers of an Indexed Job.
const indexVariable = "JOB_COMPLETION_INDEX"

// addIndexVariable adds it where it is not set.
func addIndexVariable(containers []v1.Container) {
	for i := range containers {
		c := &containers[i]
		if !slices.ContainsFunc(c.Env, func(e v1.EnvVar) bool { return e.Name == indexVariable }) {
			from := &v1.ObjectFieldSelector{FieldPath: fmt.Sprintf("metadata.labels['%s']", batchv1.JobCompletionIndexAnnotation)}
			c.Env = append(c.Env, v1.EnvVar{Name: indexVariable, ValueFrom: &v1.EnvVarSource{FieldRef: from}})
		}
	}
}

// readyJob completes a Job and checks how many of its Pods are to run at a time.
func (w *workload) readyJob(job *batchv1.Job) (errs []*Error) {
	if w.object.kind == "CronJob" { // else it is validated already
		job.UID = w.meta.UID
		for _, e := range validateJob(job) {
			e.Field = w.specPath().String() + e.Field[min(len("spec"), len(e.Field)):]
			errs = append(errs, w.object.fieldErrors(field.ErrorList{e})...)
		}
	}
	if n := ptr.Deref(job.Spec.Parallelism, 1); n < 1 || n > mostReplicas {
		errs = append(errs, w.object.errorf(w.specPath().Child("parallelism").String(), fmt.Sprintf("should be from 1 to %d", mostReplicas), "%d pods at a time can't run on one machine", n))
	}
	w.job = &Job{Kind: w.object.kind, Namespace: w.meta.Namespace, Name: job.Name, Spec: job.Spec}
	return errs
}

// jobPod is the Pod that stands for those of the Job.
func (w *workload) jobPod() podInput {
	pod := w.fromTemplate(&w.job.Spec.Template)
	generateName(pod, w.job.Name)
	if w.job.Indexed() {
		addIndexVariable(pod.Spec.InitContainers)
		addIndexVariable(pod.Spec.Containers)
	}
	return podInput{object: w.template, typed: pod, of: w}
}
