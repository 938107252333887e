package manifest

import (
	"reflect"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

var (
	noRollout = pointless("nothing is rolled out")
	noReplace = ignored("pods begin as soon as the one before is Ready")
)

// workloadSupport says for every field of the spec of a workload what lifepod run does with it, as fieldSupport for
// those of a Pod.
var workloadSupport = map[string]support{
	"DeploymentSpec.replicas":                used,
	"DeploymentSpec.selector":                used,
	"DeploymentSpec.template":                used,
	"DeploymentSpec.strategy":                noRollout,
	"DeploymentSpec.minReadySeconds":         noRollout,
	"DeploymentSpec.revisionHistoryLimit":    noRollout,
	"DeploymentSpec.paused":                  refused("nothing of a Deployment that is paused would run"),
	"DeploymentSpec.progressDeadlineSeconds": noRollout,

	"ReplicaSetSpec.replicas":        used,
	"ReplicaSetSpec.minReadySeconds": noRollout,
	"ReplicaSetSpec.selector":        used,
	"ReplicaSetSpec.template":        used,

	"StatefulSetSpec.replicas":                             used,
	"StatefulSetSpec.selector":                             used,
	"StatefulSetSpec.template":                             used,
	"StatefulSetSpec.volumeClaimTemplates":                 used,
	"StatefulSetSpec.serviceName":                          used,
	"StatefulSetSpec.podManagementPolicy":                  used,
	"StatefulSetSpec.updateStrategy":                       noRollout,
	"StatefulSetSpec.revisionHistoryLimit":                 noRollout,
	"StatefulSetSpec.minReadySeconds":                      noReplace,
	"StatefulSetSpec.persistentVolumeClaimRetentionPolicy": ignored("the folders of claims stay"),
	"StatefulSetSpec.ordinals":                             used,

	"DaemonSetSpec.selector":             used,
	"DaemonSetSpec.template":             used,
	"DaemonSetSpec.updateStrategy":       noRollout,
	"DaemonSetSpec.minReadySeconds":      noRollout,
	"DaemonSetSpec.revisionHistoryLimit": noRollout,

	"JobSpec.parallelism":             used,
	"JobSpec.completions":             used,
	"JobSpec.activeDeadlineSeconds":   used,
	"JobSpec.podFailurePolicy":        used,
	"JobSpec.successPolicy":           notYet,
	"JobSpec.backoffLimit":            used,
	"JobSpec.backoffLimitPerIndex":    notYet,
	"JobSpec.maxFailedIndexes":        notYet,
	"JobSpec.selector":                used,
	"JobSpec.manualSelector":          used,
	"JobSpec.template":                used,
	"JobSpec.ttlSecondsAfterFinished": pointless("nothing is left of a Job that has ended"),
	"JobSpec.completionMode":          used,
	"JobSpec.suspend":                 refused("nothing of a Job that is suspended would run").or("false"),
	"JobSpec.podReplacementPolicy":    ignored("a pod is replaced when it is gone").or("Failed"),
	"JobSpec.managedBy":               refused("lifepod run is the Job's controller").or("kubernetes.io/job-controller"),
	"JobSpec.scheduling":              notYet, // alpha

	"CronJobSpec.schedule":                   pointless("its job runs once, at once"),
	"CronJobSpec.timeZone":                   pointless("its job runs once, at once"),
	"CronJobSpec.startingDeadlineSeconds":    pointless("its job runs once, at once"),
	"CronJobSpec.concurrencyPolicy":          pointless("its job runs once, at once"),
	"CronJobSpec.suspend":                    pointless("its job runs once, at once"),
	"CronJobSpec.jobTemplate":                used,
	"CronJobSpec.successfulJobsHistoryLimit": pointless("nothing is left of a Job that has ended"),
	"CronJobSpec.failedJobsHistoryLimit":     pointless("nothing is left of a Job that has ended"),
}

// checkFields judges the fields of a workload's spec, before defaulting.
func checkFields(o *object, path *field.Path, spec reflect.Value) (errs, warnings []*Error) {
	s := &supportOf{object: o, ignored: map[string][]string{}}
	for f := range fields(spec.Type()) {
		if value := spec.FieldByIndex(f.Index); !value.IsZero() {
			s.judge(path.Child(f.json), value, workloadSupport[spec.Type().Name()+"."+f.json])
		}
	}
	return s.errs, s.warnings()
}
