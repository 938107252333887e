package criconfig

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifepod/lifepod/internal/assert"
)

// objects is the namespace of the tests.
type objects struct {
	configMaps map[string]map[string]string
	secrets    map[string]map[string][]byte
	err        error
}

func (o objects) ConfigMap(namespace, name string) (*v1.ConfigMap, error) {
	if o.err != nil {
		return nil, o.err
	}
	if data, ok := o.configMaps[name]; ok && namespace == "ns" {
		return &v1.ConfigMap{Data: data}, nil
	}
	return nil, apierrors.NewNotFound(v1.Resource("configmaps"), name)
}

func (o objects) Secret(namespace, name string) (*v1.Secret, error) {
	if o.err != nil {
		return nil, o.err
	}
	if data, ok := o.secrets[name]; ok && namespace == "ns" {
		return &v1.Secret{Data: data}, nil
	}
	return nil, apierrors.NewNotFound(v1.Resource("secrets"), name)
}

var testObjects = objects{
	configMaps: map[string]map[string]string{
		"conf": {"b": "2", "a": "$(NOT_EXPANDED)", "odd key.": "kept"},
		"more": {"a": "later"},
	},
	secrets: map[string]map[string][]byte{"cred": {"password": []byte("s3cret")}},
}

func environmentTestPod() *v1.Pod {
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: "web", Namespace: "ns", UID: "uid-1",
			Labels:      map[string]string{"app": "shop"},
			Annotations: map[string]string{"example.org/Note": "hi"},
		},
		Spec: v1.PodSpec{NodeName: "node-1", ServiceAccountName: "robot"},
	}
}

func fieldVar(name, path string) v1.EnvVar {
	return v1.EnvVar{Name: name, ValueFrom: &v1.EnvVarSource{FieldRef: &v1.ObjectFieldSelector{APIVersion: "v1", FieldPath: path}}}
}

func configMapVar(name, object, key string, optional *bool) v1.EnvVar {
	ref := &v1.ConfigMapKeySelector{LocalObjectReference: v1.LocalObjectReference{Name: object}, Key: key, Optional: optional}
	return v1.EnvVar{Name: name, ValueFrom: &v1.EnvVarSource{ConfigMapKeyRef: ref}}
}

func secretVar(name, object, key string, optional *bool) v1.EnvVar {
	ref := &v1.SecretKeySelector{LocalObjectReference: v1.LocalObjectReference{Name: object}, Key: key, Optional: optional}
	return v1.EnvVar{Name: name, ValueFrom: &v1.EnvVarSource{SecretKeyRef: ref}}
}

func fromConfigMap(name, prefix string, optional *bool) v1.EnvFromSource {
	return v1.EnvFromSource{Prefix: prefix, ConfigMapRef: &v1.ConfigMapEnvSource{LocalObjectReference: v1.LocalObjectReference{Name: name}, Optional: optional}}
}

func fromSecret(name, prefix string, optional *bool) v1.EnvFromSource {
	return v1.EnvFromSource{Prefix: prefix, SecretRef: &v1.SecretEnvSource{LocalObjectReference: v1.LocalObjectReference{Name: name}, Optional: optional}}
}

func TestBuildEnv(t *testing.T) {
	for _, tc := range []struct {
		name      string
		container v1.Container
		services  []KeyValue
		want      []KeyValue
	}{
		{
			name: "A-ENV-2 envFrom in order, later wins, env wins over envFrom, A-ENV-9 stable order, A-ENV-3 keys of any form",
			container: v1.Container{
				EnvFrom: []v1.EnvFromSource{fromConfigMap("conf", "", nil), fromConfigMap("more", "", nil), fromSecret("cred", "DB_", nil)},
				Env:     []v1.EnvVar{{Name: "Z", Value: "1"}, {Name: "b", Value: "mine"}},
			},
			want: []KeyValue{{"a", "later"}, {"b", "mine"}, {"odd key.", "kept"}, {"DB_password", "s3cret"}, {"Z", "1"}},
		},
		{
			name: "A-ENV-2 service variables come last and never override",
			container: v1.Container{Env: []v1.EnvVar{
				{Name: "A_PORT", Value: "own"}, {Name: "URL", Value: "$(A_PORT)/$(B_PORT)"},
			}},
			services: []KeyValue{{"A_PORT", "tcp://a"}, {"B_PORT", "tcp://b"}},
			want:     []KeyValue{{"A_PORT", "own"}, {"URL", "own/tcp://b"}, {"B_PORT", "tcp://b"}},
		},
		{
			name: "A-ENV-4 values expand with what is set so far, sources do not expand",
			container: v1.Container{Env: []v1.EnvVar{
				{Name: "EARLY", Value: "$(LATE)"}, {Name: "LATE", Value: "x"}, {Name: "OK", Value: "$(LATE)$$(LATE)"},
				configMapVar("RAW", "conf", "a", nil),
			}},
			want: []KeyValue{{"EARLY", "$(LATE)"}, {"LATE", "x"}, {"OK", "x$(LATE)"}, {"RAW", "$(NOT_EXPANDED)"}},
		},
		{
			name: "A-ENV-5 optional sources that are missing are skipped, an empty variable is kept",
			container: v1.Container{
				EnvFrom: []v1.EnvFromSource{fromConfigMap("none", "", new(true)), fromSecret("none", "", new(true))},
				Env: []v1.EnvVar{
					configMapVar("A", "none", "k", new(true)), configMapVar("B", "conf", "none", new(true)),
					secretVar("C", "none", "k", new(true)), secretVar("D", "cred", "none", new(true)),
					secretVar("E", "cred", "password", nil), {Name: "F"},
				},
			},
			want: []KeyValue{{"E", "s3cret"}, {"F", ""}},
		},
		{
			name: "A-ENV-8 fieldRef",
			container: v1.Container{Env: []v1.EnvVar{
				fieldVar("NAME", "metadata.name"), fieldVar("NS", "metadata.namespace"), fieldVar("UID", "metadata.uid"),
				fieldVar("APP", "metadata.labels['app']"), fieldVar("NOTE", "metadata.annotations['example.org/Note']"),
				fieldVar("NOLABEL", "metadata.labels['none']"), fieldVar("NODE", "spec.nodeName"), fieldVar("SA", "spec.serviceAccountName"),
				fieldVar("HOST", "status.hostIP"), fieldVar("HOSTS", "status.hostIPs"), fieldVar("IP", "status.podIP"), fieldVar("IPS", "status.podIPs"),
			}},
			want: []KeyValue{
				{"NAME", "web"}, {"NS", "ns"}, {"UID", "uid-1"}, {"APP", "shop"}, {"NOTE", "hi"}, {"NOLABEL", ""}, {"NODE", "node-1"}, {"SA", "robot"},
				{"HOST", "192.0.2.1"}, {"HOSTS", "192.0.2.1,2001:db8::1"}, {"IP", "10.0.0.2"}, {"IPS", "10.0.0.2,fd00::2"},
			},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := assert.Get(BuildEnvironment(EnvironmentInput{
				Pod: environmentTestPod(), Container: &tc.container, Objects: testObjects, Services: tc.services,
				PodIPs: []string{"10.0.0.2", "fd00::2"}, HostIPs: []string{"192.0.2.1", "2001:db8::1"},
			})).Must(t)
			assert.Deep(t, "env", tc.want, got.Env)
		})
	}
}

func TestBuildErrors(t *testing.T) {
	for _, tc := range []struct {
		name      string
		container v1.Container
		want      string
	}{
		{"A-ENV-5 key of a ConfigMap", v1.Container{Env: []v1.EnvVar{configMapVar("A", "conf", "none", nil)}}, "couldn't find key none in ConfigMap ns/conf"},
		{"A-ENV-5 key of a Secret", v1.Container{Env: []v1.EnvVar{secretVar("A", "cred", "none", nil)}}, "couldn't find key none in Secret ns/cred"},
		{"A-ENV-5 ConfigMap", v1.Container{Env: []v1.EnvVar{configMapVar("A", "none", "k", nil)}}, `configmaps "none" not found`},
		{"A-ENV-5 Secret", v1.Container{Env: []v1.EnvVar{secretVar("A", "none", "k", nil)}}, `secrets "none" not found`},
		{"A-ENV-5 ConfigMap of envFrom", v1.Container{EnvFrom: []v1.EnvFromSource{fromConfigMap("none", "", nil)}}, `configmaps "none" not found`},
		{"A-ENV-5 Secret of envFrom", v1.Container{EnvFrom: []v1.EnvFromSource{fromSecret("none", "", nil)}}, `secrets "none" not found`},
		{"A-ENV-8 unknown field", v1.Container{Env: []v1.EnvVar{fieldVar("A", "spec.hostname")}}, "unsupported fieldPath: spec.hostname"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			assert.Error(t, tc.want, assert.ErrorOf(BuildEnvironment(EnvironmentInput{Pod: environmentTestPod(), Container: &tc.container, Objects: testObjects})))
		})
	}
}

func TestBuildOptionalForgivesOnlyNotFound(t *testing.T) {
	broken := errors.New("connection refused")
	container := &v1.Container{EnvFrom: []v1.EnvFromSource{fromConfigMap("conf", "", new(true))}}
	assert.ErrorIs(t, broken, assert.ErrorOf(BuildEnvironment(EnvironmentInput{Pod: environmentTestPod(), Container: container, Objects: objects{err: broken}})))
}

func TestBuildCommandAndArgsExpandWithTheFinalVariables(t *testing.T) {
	got := assert.Get(BuildEnvironment(EnvironmentInput{
		Pod: environmentTestPod(),
		Container: &v1.Container{
			Env:     []v1.EnvVar{{Name: "A", Value: "1"}},
			Command: []string{"run", "$(A)", "$(S)"}, Args: []string{"$$(A)", "$(NONE)"},
		},
		Services: []KeyValue{{"S", "svc"}},
	})).Must(t)
	want := Environment{
		Env:     []KeyValue{{"A", "1"}, {"S", "svc"}},
		Command: []string{"run", "1", "svc"}, Args: []string{"$(A)", "$(NONE)"},
	}
	assert.Deep(t, "A-ENV-4", want, got)
}

func TestResourceFieldRef(t *testing.T) {
	container := v1.Container{Name: "main", Resources: v1.ResourceRequirements{
		Requests: v1.ResourceList{"cpu": resource.MustParse("1100m"), "hugepages-2Mi": resource.MustParse("4Mi")},
		Limits:   v1.ResourceList{"memory": resource.MustParse("129Mi"), "hugepages-2Mi": resource.MustParse("4Mi")},
	}}
	pod := environmentTestPod()
	pod.Spec.Containers = []v1.Container{container}
	pod.Spec.InitContainers = []v1.Container{{Name: "side"}}
	pod.Spec.Resources = &v1.ResourceRequirements{Limits: v1.ResourceList{"cpu": resource.MustParse("3"), "memory": resource.MustParse("1Gi")}}
	allocatable := v1.ResourceList{"cpu": resource.MustParse("8"), "memory": resource.MustParse("16Gi"), "ephemeral-storage": resource.MustParse("50G")}

	for _, tc := range []struct{ container, resource, divisor, want, wantErr string }{
		{"", "requests.cpu", "0", "2", ""},
		{"", "requests.cpu", "1m", "1100", ""},
		{"", "requests.memory", "0", "0", ""},
		{"", "limits.memory", "1Mi", "129", ""},
		{"", "limits.memory", "1Gi", "1", ""},
		{"main", "limits.cpu", "0", "3", ""},
		{"side", "limits.memory", "1", "1073741824", ""},
		{"", "limits.ephemeral-storage", "1G", "50", ""},
		{"", "limits.hugepages-2Mi", "1Mi", "4", ""},
		{"side", "limits.hugepages-2Mi", "1Mi", "0", ""},
		{"none", "limits.cpu", "0", "", "container none not found"},
		{"", "limits.pods", "0", "", "unsupported container resource : limits.pods"},
		{"", "usage.cpu", "0", "", "unsupported container resource : usage.cpu"},
	} {
		t.Run("A-ENV-8 "+tc.container+" "+tc.resource+"/"+tc.divisor, func(t *testing.T) {
			b := builder{EnvironmentInput: EnvironmentInput{Pod: pod, Container: &pod.Spec.Containers[0], Allocatable: allocatable}}
			got, err := b.resource(&v1.ResourceFieldSelector{ContainerName: tc.container, Resource: tc.resource, Divisor: resource.MustParse(tc.divisor)})
			if tc.wantErr != "" {
				assert.Require(t, err != nil && err.Error() == tc.wantErr, "error = %v, want %s", err, tc.wantErr)
				return
			}
			assert.True(t, err == nil && got == tc.want, "got %q, %v, want %q", got, err, tc.want)
		})
	}
}

func TestFileKeyRef(t *testing.T) {
	dir := t.TempDir()
	content := "# comment\n\n  A='one'  # note\nB='two\r\nlines'\r\nEMPTY= 'x'\nC='it $(A)'\n"
	assert.Must(t, os.WriteFile(filepath.Join(dir, "env"), []byte(content), 0o600))
	for name, bad := range map[string]string{"space": "A ='x'\n", "bare": "A=x\n", "open": "A='x\n", "tail": "A='x' y\n", "noeq": "A\n"} {
		assert.Must(t, os.WriteFile(filepath.Join(dir, name), []byte(bad), 0o600))
	}
	assert.Must(t, os.Symlink("/etc/passwd", filepath.Join(dir, "link")))
	// What a container can put there to hang or exhaust lifepod.
	assert.Must(t, unix.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
	assert.Must(t, os.WriteFile(filepath.Join(dir, "huge"), nil, 0o600))
	assert.Must(t, os.Truncate(filepath.Join(dir, "huge"), 1<<40))
	for _, tc := range []struct {
		path, key string
		optional  bool
		want      string
		found     bool
		wantErr   string
	}{
		{path: "env", key: "A", want: "one", found: true},
		{path: "env", key: "B", want: "two\nlines", found: true},
		{path: "env", key: "C", want: "it $(A)", found: true},
		{path: "env", key: "EMPTY", optional: true},
		{path: "env", key: "EMPTY", wantErr: `environment variable key "EMPTY" not found in file "env"`},
		{path: "env", key: "X", wantErr: `environment variable key "X" not found in file "env"`},
		{path: "none", key: "X", optional: true},
		{path: "none", key: "X", wantErr: `environment variable key "X" not found in file "none"`},
		{path: "space", key: "A", wantErr: `couldn't parse env file "space" of volume "vol" for key "A": line 1: there is no NAME= without a blank before =: should be NAME='value'`},
		{path: "bare", key: "A", wantErr: `couldn't parse env file "bare" of volume "vol" for key "A": line 1: the value is not in single quotes: should be NAME='value'`},
		{path: "open", key: "A", optional: true, wantErr: `couldn't parse env file "open" of volume "vol" for key "A": line 1: the value is not in single quotes: should be NAME='value'`},
		{path: "tail", key: "A", wantErr: `couldn't parse env file "tail" of volume "vol" for key "A": line 1: there is text behind the closing quote: should be NAME='value'`},
		{path: "noeq", key: "A", wantErr: `couldn't parse env file "noeq" of volume "vol" for key "A": line 1: there is no NAME= without a blank before =: should be NAME='value'`},
		{path: "link", key: "A", wantErr: `couldn't parse env file "link" of volume "vol" for key "A": openat link: path escapes from parent`},
		{path: "pipe", key: "A", wantErr: `couldn't parse env file "pipe" of volume "vol" for key "A": is no regular file`},
		{path: "huge", key: "A", wantErr: `couldn't parse env file "huge" of volume "vol" for key "A": has 1099511627776 bytes, more than 4194304`},
		{path: ".", key: "A", optional: true, wantErr: `couldn't parse env file "." of volume "vol" for key "A": is no regular file`},
		{path: "../env", key: "A", wantErr: `couldn't parse env file "../env" of volume "vol" for key "A": openat ../env: path escapes from parent`},
	} {
		t.Run("A-ENV-6 "+tc.path+" "+tc.key, func(t *testing.T) {
			b := builder{EnvironmentInput: EnvironmentInput{VolumePath: func(v string) (string, bool) { return dir, v == "vol" }}}
			got, found, err := b.fileKey(&v1.FileKeySelector{VolumeName: "vol", Path: tc.path, Key: tc.key, Optional: &tc.optional})
			assert.Error(t, tc.wantErr, err)
			assert.True(t, got == tc.want && found == tc.found, "got %q, %v, want %q, %v", got, found, tc.want, tc.found)
		})
	}
	b := builder{}
	_, _, err := b.fileKey(&v1.FileKeySelector{VolumeName: "vol", Path: "env", Key: "A"})
	assert.Error(t, `cannot find the volume "vol" referenced by FileKeyRef`, err)
}

// TestUnpassable: A-ENV-10.
func TestUnpassable(t *testing.T) {
	dir := t.TempDir()
	assert.Must(t, os.WriteFile(filepath.Join(dir, "env"), []byte("F='\xff'\n"), 0o600))
	const advice = ", which runtimes can't pass on unchanged: mount it as a file"
	secret := func(key string) *v1.EnvVarSource {
		return &v1.EnvVarSource{SecretKeyRef: &v1.SecretKeySelector{LocalObjectReference: v1.LocalObjectReference{Name: "raw"}, Key: key}}
	}
	all := []v1.EnvFromSource{{Prefix: "raw_", SecretRef: &v1.SecretEnvSource{LocalObjectReference: v1.LocalObjectReference{Name: "raw"}}}}
	for want, c := range map[string]v1.Container{
		`environment variable "S" (key "salt" of Secret "raw") is not UTF-8 text` + advice:                                                          {Env: []v1.EnvVar{{Name: "S", ValueFrom: secret("salt")}}},
		`environment variable "raw_nul" (key "nul" of Secret "raw") has a zero byte, at which the program would take it to end: mount it as a file`: {EnvFrom: all},
		`environment variable "T" is not UTF-8 text` + advice:                                                                                       {Env: []v1.EnvVar{{Name: "S", ValueFrom: secret("salt")}, {Name: "T", Value: "x$(S)y"}, {Name: "S", Value: "plain"}}},
		`environment variable "F" (key "F" of file "env") is not UTF-8 text` + advice:                                                               {Env: []v1.EnvVar{{Name: "F", ValueFrom: &v1.EnvVarSource{FileKeyRef: &v1.FileKeySelector{VolumeName: "v", Path: "env", Key: "F"}}}}},
		`args[1] has a zero byte, at which the program would take it to end`:                                                                        {Args: []string{"a", "b\x00"}},
		"": {EnvFrom: all, Env: []v1.EnvVar{{Name: "raw_salt"}, {Name: "raw_nul"}}}, // none of them is there in the end
	} {
		in := EnvironmentInput{Pod: environmentTestPod(), Container: &c, VolumePath: func(string) (string, bool) { return dir, true }}
		in.Objects = objects{secrets: map[string]map[string][]byte{"raw": {"salt": []byte("a\xff\xfe"), "nul": []byte("a\x00b")}}}
		assert.Error(t, want, assert.ErrorOf(BuildEnvironment(in)))
	}
}
