package manifest

import (
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/assert"
)

// TestReferences lists what each place of a Pod that can name a ConfigMap or Secret asks for, also those
// places that lifepod run doesn't support yet.
func TestReferences(t *testing.T) {
	items := []v1.KeyToPath{{Key: "k", Path: "p"}}
	local := func(name string) v1.LocalObjectReference { return v1.LocalObjectReference{Name: name} }
	spec := &v1.PodSpec{
		Volumes: []v1.Volume{
			{VolumeSource: v1.VolumeSource{ConfigMap: &v1.ConfigMapVolumeSource{LocalObjectReference: local("a"), Items: items}}},
			{VolumeSource: v1.VolumeSource{Secret: &v1.SecretVolumeSource{SecretName: "b", Optional: new(true)}}},
			{VolumeSource: v1.VolumeSource{Projected: &v1.ProjectedVolumeSource{Sources: []v1.VolumeProjection{
				{ConfigMap: &v1.ConfigMapProjection{LocalObjectReference: local("c")}},
				{Secret: &v1.SecretProjection{LocalObjectReference: local("d"), Items: items}},
			}}}},
		},
		InitContainers: []v1.Container{{EnvFrom: []v1.EnvFromSource{
			{ConfigMapRef: &v1.ConfigMapEnvSource{LocalObjectReference: local("e")}},
			{SecretRef: &v1.SecretEnvSource{LocalObjectReference: local("f"), Optional: new(false)}},
		}}},
		Containers: []v1.Container{{Env: []v1.EnvVar{
			{Value: "plain"},
			{ValueFrom: &v1.EnvVarSource{ConfigMapKeyRef: &v1.ConfigMapKeySelector{LocalObjectReference: local("g"), Key: "k"}}},
			{ValueFrom: &v1.EnvVarSource{SecretKeyRef: &v1.SecretKeySelector{LocalObjectReference: local("h"), Key: "k"}}},
		}}},
	}
	want := []string{
		"ConfigMap a at spec.volumes[0].configMap.name, key k at spec.volumes[0].configMap.items[0].key",
		"Secret b at spec.volumes[1].secret.secretName, optional",
		"ConfigMap c at spec.volumes[2].projected.sources[0].configMap.name",
		"Secret d at spec.volumes[2].projected.sources[1].secret.name, key k at spec.volumes[2].projected.sources[1].secret.items[0].key",
		"ConfigMap e at spec.initContainers[0].envFrom[0].configMapRef.name, for a variable",
		"Secret f at spec.initContainers[0].envFrom[1].secretRef.name, for a variable",
		"ConfigMap g at spec.containers[0].env[1].valueFrom.configMapKeyRef.name, key k at spec.containers[0].env[1].valueFrom.configMapKeyRef.key, for a variable",
		"Secret h at spec.containers[0].env[2].valueFrom.secretKeyRef.name, key k at spec.containers[0].env[2].valueFrom.secretKeyRef.key, for a variable",
	}
	var got []string
	for _, r := range references(spec) {
		line := fmt.Sprintf("%s %s at %s", r.kind, r.name, r.path)
		for _, k := range r.keys {
			line += fmt.Sprintf(", key %s at %s", k.key, k.path)
		}
		if r.optional {
			line += ", optional"
		}
		if r.env {
			line += ", for a variable"
		}
		got = append(got, line)
	}
	assert.Deep(t, "references", want, got)
}
