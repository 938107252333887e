package manifest

import (
	"reflect"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/assert"
)

// TestSupportTable walks the Go types of a Pod's spec, below each field that is used, and wants exactly
// the fields that it meets to be listed. So no field of the API is ever dropped silently.
func TestSupportTable(t *testing.T) {
	met := map[string]bool{}
	walkUsed(reflect.TypeFor[v1.PodSpec](), met, map[reflect.Type]bool{})
	for _, name := range sortedKeys(met) {
		_, ok := fieldSupport[name]
		assert.True(t, ok, "%s is a field of the Kubernetes API: list it in fieldSupport as used, refused, ignored or pointless", name)
	}
	for _, name := range sortedKeys(fieldSupport) {
		assert.True(t, met[name], "%s is in fieldSupport, but not a field of the Kubernetes API below one that is used", name)
	}
	assert.True(t, len(met) >= 150, "met only %d fields: the walk is broken", len(met))
}

func walkUsed(t reflect.Type, met map[string]bool, seen map[reflect.Type]bool) {
	for slices.Contains([]reflect.Kind{reflect.Pointer, reflect.Slice, reflect.Map}, t.Kind()) {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || t.PkgPath() != apiPackage || seen[t] {
		return
	}
	seen[t] = true
	for f := range fields(t) {
		if f.inline {
			walkUsed(f.Type, met, seen)
			continue
		}
		name := t.Name() + "." + f.json
		met[name] = true
		if entry := fieldSupport[name]; entry.verdict == isUsed || entry.except != nil {
			walkUsed(f.Type, met, seen)
		}
	}
}

// TestWorkloadSupport wants exactly the fields of the specs of workloads to be listed.
func TestWorkloadSupport(t *testing.T) {
	met := map[string]bool{}
	for _, spec := range []reflect.Type{
		reflect.TypeFor[appsv1.DeploymentSpec](), reflect.TypeFor[appsv1.ReplicaSetSpec](), reflect.TypeFor[appsv1.StatefulSetSpec](), reflect.TypeFor[appsv1.DaemonSetSpec](),
		reflect.TypeFor[batchv1.JobSpec](), reflect.TypeFor[batchv1.CronJobSpec](),
	} {
		for f := range fields(spec) {
			name := spec.Name() + "." + f.json
			met[name] = true
			_, ok := workloadSupport[name]
			assert.True(t, ok, "%s is a field of the Kubernetes API: list it in workloadSupport as used, refused, ignored or pointless", name)
		}
	}
	for _, name := range sortedKeys(workloadSupport) {
		assert.True(t, met[name], "%s is in workloadSupport, but not a field of the Kubernetes API", name)
	}
}

// TestSupportReasons wants a reason for each field that isn't used.
func TestSupportReasons(t *testing.T) {
	for _, table := range []map[string]support{fieldSupport, resourceSupport, workloadSupport} {
		for name, entry := range table {
			assert.True(t, (entry.verdict == isUsed) == (entry.reason == ""), "%s: verdict %d with reason %q", name, entry.verdict, entry.reason)
		}
	}
}

// TestUnlistedFieldIsRefused proves that a field that nobody has listed would not pass.
func TestUnlistedFieldIsRefused(t *testing.T) {
	entry := fieldSupport["PodSpec.hostname"]
	delete(fieldSupport, "PodSpec.hostname")
	defer func() { fieldSupport["PodSpec.hostname"] = entry }()
	o := &object{document: &parsed{}}
	errs, _ := checkSupport(o, &v1.Pod{Spec: v1.PodSpec{Hostname: "h"}})
	assert.True(t, len(errs) == 1 && errs[0].Field == "spec.hostname", "errors for an unlisted field: %v", errs)
}
