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
}

// checkFields judges the fields of a workload's spec, before defaulting.
func checkFields(o *object, spec reflect.Value) ([]*Error, []string) {
	s := &supportOf{object: o, ignored: map[string][]string{}}
	for f := range fields(spec.Type()) {
		if value := spec.FieldByIndex(f.Index); !value.IsZero() {
			s.judge(field.NewPath("spec").Child(f.json), value, workloadSupport[spec.Type().Name()+"."+f.json])
		}
	}
	return s.errs, s.warnings()
}
