package manifest

import (
	"encoding/hex"
	"fmt"
	"hash/fnv"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	"k8s.io/kubernetes/pkg/util/hash"

	"github.com/lifepod/lifepod/internal/assert"
)

const staticWeb = `apiVersion: v1
kind: Pod
metadata:
  creationTimestamp: null
  name: web
  namespace: kube-system
  labels: {tier: control-plane}
spec:
  priorityClassName: system-node-critical
  priority: 2000001000
  hostNetwork: true
  containers:
  - {name: web, image: lifepod.dev/toolbox:1, command: [serve], resources: {requests: {cpu: 100m}},
     livenessProbe: {httpGet: {path: /livez, port: 8080}}, volumeMounts: [{name: certs, mountPath: /certs, readOnly: true}]}
  volumes:
  - name: certs
    hostPath: {path: /etc/kubernetes/pki, type: DirectoryOrCreate}
status: {}
`

// upstreamUID is what the kubelet's own decoding and hashing makes of a manifest.
func upstreamUID(t *testing.T, text, suffix string) string {
	t.Helper()
	json := assert.Get(utilyaml.ToJSON([]byte(text))).Must(t)
	object := assert.Get(runtime.Decode(legacyscheme.Codecs.UniversalDecoder(), json)).Must(t)
	sum := fnv.New128a()
	hash.DeepHashObject(sum, object)
	fmt.Fprint(sum, suffix)
	return hex.EncodeToString(sum.Sum(nil))
}

// TestStaticUID holds the UID against the kubelet's (B-STA-2).
func TestStaticUID(t *testing.T) {
	const path, url = "/etc/kubernetes/manifests/web.yaml", "http://127.0.0.1/pods"
	for _, tc := range []struct {
		name, text string
		options    StaticOptions
		source     string
		want       string
	}{
		{"file", staticWeb, StaticOptions{NodeName: "node-1"}, path, upstreamUID(t, staticWeb, "host:node-1file:"+path)},
		{"URL", staticWeb, StaticOptions{NodeName: "node-1", FromURL: true}, url, upstreamUID(t, staticWeb, "url:"+url)},
		{"given", strings.Replace(staticWeb, "name: web\n", "name: web\n  uid: 1-2-3\n", 1), StaticOptions{NodeName: "n"}, path, "1-2-3"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			set := assert.Get(ReadStatic(Source{Name: tc.source, Data: []byte(tc.text)}, tc.options)).Must(t)
			assert.Deep(t, "UID", tc.want, string(set.Pods[0].UID))
			assert.Empty(t, set.Warnings, "warnings")
		})
	}
}

// TestStaticIdentity: name, namespace, node, hash and toleration (B-STA-2).
func TestStaticIdentity(t *testing.T) {
	text := strings.Replace(staticWeb, "  namespace: kube-system\n", "", 1)
	type identity struct {
		Name, Namespace, Node, ServiceAccount, Hash string
		Tolerations                                 []v1.Toleration
		Phase                                       v1.PodPhase
	}
	for _, tc := range []struct {
		name        string
		fromURL     bool
		tolerations []v1.Toleration
	}{
		{"file", false, []v1.Toleration{{Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute}}},
		{"URL", true, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			set := assert.Get(ReadStatic(Source{Name: "web", Data: []byte(text)}, StaticOptions{NodeName: "node-1", FromURL: tc.fromURL})).Must(t)
			pod := set.Pods[0]
			want := identity{"web-node-1", "default", "node-1", "", string(pod.UID), tc.tolerations, v1.PodPending}
			got := identity{pod.Name, pod.Namespace, pod.Spec.NodeName, pod.Spec.ServiceAccountName, pod.Annotations[ConfigHashAnnotation], pod.Spec.Tolerations, pod.Status.Phase}
			assert.Deep(t, "", want, got)
		})
	}
}

// TestStaticErrors: what is wrong, where, and what would be right (B-STA-9).
func TestStaticErrors(t *testing.T) {
	const pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers: [{name: c, image: i}]\n"
	for _, tc := range []struct {
		name, text string
		fromURL    bool
		want       string
	}{
		{"empty", "# nothing\n", false, "f: there is no object in it; should be Pods, and the ConfigMaps and Secrets that they use"},
		{"no name", strings.Replace(pod, "{name: a}", "{generateName: a}", 1), false, "f:3: metadata.name: missing; a static pod has one; the node's name is appended to it"},
		{"service account", pod + "  serviceAccountName: x\n", false, "f:4: spec: Forbidden: static pods may not reference serviceaccounts"},
		{"claim", pod + "  volumes: [{name: v, persistentVolumeClaim: {claimName: c}}]\n", false, "f:4: spec: Forbidden: static pods may not reference persistentvolumeclaims"},
		{"token", pod + "  volumes: [{name: v, projected: {sources: [{serviceAccountToken: {path: t}}]}}]\n", false, "f:4: spec: Forbidden: static pods may not reference serviceaccounts (via projected volumes)"},
		{"kind", pod + "---\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: c}\n", false, "f:8: document 2: kind: PersistentVolumeClaim can't stand beside static pods; should be Pods, and the ConfigMaps and Secrets that they use"},
		{"ConfigMap from a URL", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n", true, "f:2: kind: ConfigMap is no static pod; should be a Pod or a PodList"},
		{"UID", strings.Replace(pod, "{name: a}", "{name: a, uid: ../b}", 1), false, "f:3: metadata.uid: \"../b\" can't be the name of a folder; should be letters, digits and -, or be left out"},
		{"cut off", pod[:len(pod)-4], false, "f:5: YAML syntax: did not find expected node content; look for a wrong indentation or a missing quote near this line"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := ReadStatic(Source{Name: "f", Data: []byte(tc.text)}, StaticOptions{NodeName: "n", FromURL: tc.fromURL})
			got := ""
			if err != nil {
				got, _, _ = strings.Cut(err.Error(), "\n")
			}
			assert.Deep(t, "", tc.want, got)
		})
	}
}

// TestStaticLenient: a manifest that the kubelet takes runs on, and everything in a file is read.
func TestStaticLenient(t *testing.T) {
	text := `apiVersion: v1
kind: Pod
metadata: {name: a, namespace: x}
spec:
  containers: [{name: c, image: i, imagePullPolicy: Never, comand: [x]}]
  nodeSelector: {kubernetes.io/os: linux}
  terminationGracePeriodSeconds: 0
---
apiVersion: v1
kind: PodList
items:
- metadata: {name: b, namespace: x}
  spec:
    containers: [{name: c, image: i, envFrom: [{secretRef: {name: s}}]}]
---
apiVersion: v1
kind: Secret
metadata: {name: s}
stringData: {k: v}
`
	set := assert.Get(ReadStatic(Source{Name: "f", Data: []byte(text)}, StaticOptions{NodeName: "n"})).Must(t)
	var names []string
	for _, p := range set.Pods {
		names = append(names, p.Name)
	}
	assert.Deep(t, "pods", []string{"a-n", "b-n"}, names)
	assert.Deep(t, "warnings", []string{"f:5: document 1: spec.containers[0].comand: unknown field; did you mean command?"}, set.Warnings)
	err := Unsatisfied(set.Pods[1], nil, set.Secrets)
	assert.True(t, err == nil && set.Secrets[0].Namespace == "x", "Secret in %s: %v", set.Secrets[0].Namespace, err)
	wantErr := `spec.containers[0].envFrom[0].secretRef.name: there is no Secret "s" in namespace x; a static pod uses those of the files beside it only: add it there, or set optional: true`
	assert.Error(t, wantErr, Unsatisfied(set.Pods[1], nil, nil))
}

// TestWithoutData: a mirror pod may not name ConfigMaps and Secrets (B-STA-9).
func TestWithoutData(t *testing.T) {
	configMap := &v1.ConfigMapVolumeSource{LocalObjectReference: v1.LocalObjectReference{Name: "c"}}
	downward := v1.VolumeProjection{DownwardAPI: &v1.DownwardAPIProjection{}}
	empty := v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}
	pod := &v1.Pod{Spec: v1.PodSpec{
		Volumes: []v1.Volume{
			{Name: "a", VolumeSource: v1.VolumeSource{ConfigMap: configMap}},
			{Name: "b", VolumeSource: v1.VolumeSource{Projected: &v1.ProjectedVolumeSource{Sources: []v1.VolumeProjection{downward, {Secret: &v1.SecretProjection{}}}}}},
			{Name: "c", VolumeSource: v1.VolumeSource{Projected: &v1.ProjectedVolumeSource{Sources: []v1.VolumeProjection{{ConfigMap: &v1.ConfigMapProjection{}}}}}},
			{Name: "d", VolumeSource: v1.VolumeSource{HostPath: &v1.HostPathVolumeSource{Path: "/"}}},
		},
		Containers: []v1.Container{{
			EnvFrom: []v1.EnvFromSource{{SecretRef: &v1.SecretEnvSource{}}},
			Env:     []v1.EnvVar{{Name: "A", Value: "1"}, {Name: "B", ValueFrom: &v1.EnvVarSource{SecretKeyRef: &v1.SecretKeySelector{}}}},
		}},
		ImagePullSecrets: []v1.LocalObjectReference{{Name: "s"}},
	}}
	before := pod.DeepCopy()
	got, fields := WithoutData(pod)
	want := v1.PodSpec{
		Volumes: []v1.Volume{
			{Name: "a", VolumeSource: empty},
			{Name: "b", VolumeSource: v1.VolumeSource{Projected: &v1.ProjectedVolumeSource{Sources: []v1.VolumeProjection{downward}}}},
			{Name: "c", VolumeSource: empty},
			pod.Spec.Volumes[3],
		},
		Containers: []v1.Container{{Env: []v1.EnvVar{{Name: "A", Value: "1"}, {Name: "B"}}}},
	}
	assert.Deep(t, "", want, got.Spec)
	wantFields := []string{"spec.volumes[0]", "spec.volumes[1]", "spec.volumes[2]", "spec.containers[0].envFrom", "spec.containers[0].env[1]", "spec.imagePullSecrets"}
	assert.Deep(t, "fields", wantFields, fields)
	assert.Deep(t, "the pod itself was changed", before, pod)
	assert.True(t, Uses(pod, "Secret", "s") && Uses(pod, "ConfigMap", "c") && !Uses(pod, "ConfigMap", "s"), "Uses is wrong")
}
