package manifest

import (
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	podutil "k8s.io/kubernetes/pkg/api/pod"
	"k8s.io/kubernetes/pkg/apis/apps"
	appsconversion "k8s.io/kubernetes/pkg/apis/apps/v1"
	appsvalidation "k8s.io/kubernetes/pkg/apis/apps/validation"
	"k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/kubernetes/pkg/apis/core/validation"
	"k8s.io/kubernetes/pkg/capabilities"
)

// validateWorkload does to a workload what an API server does on create. Its template keeps the defaults that it gets.
func validateWorkload(typed any) field.ErrorList {
	capabilities.Setup(true, 0)
	switch o := typed.(type) {
	case *appsv1.Deployment:
		appsconversion.SetObjectDefaults_Deployment(o)
		internal := &apps.Deployment{}
		err := appsconversion.Convert_v1_Deployment_To_apps_Deployment(o, internal, nil)
		return validateTemplate(err, &internal.Spec.Template, func(options validation.PodValidationOptions) field.ErrorList {
			return appsvalidation.ValidateDeployment(internal, options)
		})
	case *appsv1.ReplicaSet:
		appsconversion.SetObjectDefaults_ReplicaSet(o)
		internal := &apps.ReplicaSet{}
		err := appsconversion.Convert_v1_ReplicaSet_To_apps_ReplicaSet(o, internal, nil)
		return validateTemplate(err, &internal.Spec.Template, func(options validation.PodValidationOptions) field.ErrorList {
			return appsvalidation.ValidateReplicaSet(internal, options)
		})
	case *appsv1.StatefulSet:
		appsconversion.SetObjectDefaults_StatefulSet(o)
		internal := &apps.StatefulSet{}
		err := appsconversion.Convert_v1_StatefulSet_To_apps_StatefulSet(o, internal, nil)
		return append(checkClaimTemplates(o), validateTemplate(err, &internal.Spec.Template, func(options validation.PodValidationOptions) field.ErrorList {
			return appsvalidation.ValidateStatefulSet(internal, appsvalidation.StatefulSetValidationOptions{}, options)
		})...)
	case *batchv1.Job:
		return validateJob(o)
	case *batchv1.CronJob:
		return validateCronJob(o)
	default:
		set := typed.(*appsv1.DaemonSet)
		appsconversion.SetObjectDefaults_DaemonSet(set)
		internal := &apps.DaemonSet{}
		err := appsconversion.Convert_v1_DaemonSet_To_apps_DaemonSet(set, internal, nil)
		return validateTemplate(err, &internal.Spec.Template, func(options validation.PodValidationOptions) field.ErrorList {
			return appsvalidation.ValidateDaemonSet(internal, options)
		})
	}
}

// validateTemplate has Kubernetes judge an object with a template, in which our own restart actions may be.
func validateTemplate(err error, template *core.PodTemplateSpec, validate func(validation.PodValidationOptions) field.ErrorList) field.ErrorList {
	if err != nil {
		return field.ErrorList{field.InternalError(nil, err)}
	}
	options := podutil.GetValidationOptionsFromPodTemplate(template, nil)
	defer hideOwnActions(&template.Spec)()
	return nameOwnActions(validate(options))
}
