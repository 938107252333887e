package config

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	kubeletconfig "k8s.io/kubelet/config/v1beta1"

	"github.com/lifepod/lifepod/internal/assert"
)

const header = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"

// write makes the files of a test in a folder of its own, and gives its path.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, name)
		assert.Must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		assert.Must(t, os.WriteFile(path, []byte(content), 0o600))
	}
	return dir
}

// TestDefaultsAreTheKubelets holds the defaults against those that the kubelet
// 1.37.2's own SetDefaults_KubeletConfiguration gives an empty configuration.
func TestDefaultsAreTheKubelets(t *testing.T) {
	data := assert.Get(os.ReadFile("testdata/defaults.json")).Must(t)
	var want map[string]any
	assert.Must(t, json.Unmarshal(data, &want))
	is := &kubeletconfig.KubeletConfiguration{}
	setDefaults(is)
	got := assert.Get(generic(is)).Must(t)
	diff := cmp.Diff(want, got)
	assert.True(t, diff == "", "defaults (-kubelet +lifepod):\n%s", diff)
}

// TestKubeadmNode proves that the file of a kubeadm node works without a warning.
func TestKubeadmNode(t *testing.T) {
	c := assert.Get(Load("testdata/kubeadm.yaml", "")).Must(t)
	assert.Equal(t, "", c.Warning(), "warning")
	assert.Equal(t, "/etc/kubernetes/manifests", c.Kubelet.StaticPodPath, "staticPodPath")
	assert.Equal(t, time.Minute, c.Kubelet.SyncFrequency.Duration, "syncFrequency of 0s")
	assert.True(t, c.Set("containerRuntimeEndpoint") && !c.Set("port") && !c.Set("kind"), "set fields: %v", c.From)
}

func TestDefaultHasNoWarning(t *testing.T) {
	c := Default()
	assert.Equal(t, "", c.Warning(), "warning")
	assert.True(t, !*c.Kubelet.Authentication.Anonymous.Enabled && c.Kubelet.ReadOnlyPort == 0, "a node without a file lets people in unasked")
	assert.Equal(t, "100Mi", c.Kubelet.EvictionHard["memory.available"], "evictionHard of memory")
}

var dropInTests = map[string]struct {
	files map[string]string
	check func(t *testing.T, c *Config, dir string)
}{
	"in the order of their paths, folders too": {
		map[string]string{
			"config.yaml":      header + "maxPods: 10\nport: 1000",
			"d/20.conf":        header + "maxPods: 20",
			"d/10.conf":        header + "maxPods: 30\nport: 2000",
			"d/30/a.conf":      header + "podsPerCore: 7",
			"d/99.yaml":        "not read",
			"d/30/README.conf": header,
		},
		func(t *testing.T, c *Config, dir string) {
			assert.Deep(t, "", []int32{20, 2000, 7}, []int32{c.Kubelet.MaxPods, c.Kubelet.Port, c.Kubelet.PodsPerCore})
			assert.Deep(t, "skipped", []string{filepath.Join(dir, "d/99.yaml")}, c.Skipped)
			assert.Equal(t, filepath.Join(dir, "d/20.conf"), c.From["maxPods"], "maxPods from")
		},
	},
	"maps merge, lists are replaced, null is the default": {
		map[string]string{
			"config.yaml": header + "kubeReserved: {cpu: 100m}\nclusterDNS: [10.0.0.1]\nport: 1000\nevictionHard: {pid.available: 10%}",
			"d/1.conf":    header + "kubeReserved: {memory: 1Gi}\nclusterDNS: [10.0.0.2]\nport: null\nevictionHard: {memory.available: 1Gi}",
		},
		func(t *testing.T, c *Config, _ string) {
			got := []any{c.Kubelet.KubeReserved, c.Kubelet.ClusterDNS, c.Kubelet.Port, c.Kubelet.EvictionHard}
			want := []any{
				map[string]string{"cpu": "100m", "memory": "1Gi"},
				[]string{"10.0.0.2"},
				int32(10250),
				map[string]string{"pid.available": "10%", "memory.available": "1Gi"},
			}
			assert.Deep(t, "", want, got)
		},
	},
	"relative paths belong to the file that names them": {
		map[string]string{
			"config.yaml": header + "staticPodPath: manifests\ntlsCertFile: a.crt\ntlsPrivateKeyFile: a.key",
			"d/1.conf":    header + "staticPodPath: more",
		},
		func(t *testing.T, c *Config, dir string) {
			got := []string{c.Kubelet.StaticPodPath, c.Kubelet.TLSCertFile}
			assert.Deep(t, "", []string{filepath.Join(dir, "d/more"), filepath.Join(dir, "a.crt")}, got)
		},
	},
	"default thresholds of eviction are merged where that is asked for": {
		map[string]string{"config.yaml": header + "mergeDefaultEvictionSettings: true\nevictionHard: {memory.available: 1Gi}"},
		func(t *testing.T, c *Config, _ string) {
			got := c.Kubelet.EvictionHard
			assert.True(t, len(got) == 5 && got["memory.available"] == "1Gi", "evictionHard %v", got)
		},
	},
}

func TestDropIns(t *testing.T) {
	for name, test := range dropInTests {
		t.Run(name, func(t *testing.T) {
			dir := write(t, test.files)
			dropIns := filepath.Join(dir, "d")
			if _, err := os.Stat(dropIns); err != nil {
				dropIns = ""
			}
			c := assert.Get(Load(filepath.Join(dir, "config.yaml"), dropIns)).Must(t)
			test.check(t, c, dir)
		})
	}
}

// TestDropInsWithoutFile: the defaults are what the drop-ins are merged into.
func TestDropInsWithoutFile(t *testing.T) {
	dir := write(t, map[string]string{"1.conf": header + "evictionHard: {memory.available: 1Gi}"})
	c := assert.Get(Load("", dir)).Must(t)
	got := c.Kubelet.EvictionHard
	assert.True(t, got["memory.available"] == "1Gi" && got["nodefs.available"] == "10%", "evictionHard %v", got)
	assert.True(t, c.Set("evictionHard") && !c.Set("maxPods"), "set fields: %v", c.From)
}

func TestErrors(t *testing.T) {
	for name, test := range map[string]struct{ content, want string }{
		"empty":             {"# nothing\n", "config.yaml: is empty: should be a KubeletConfiguration, with apiVersion and kind"},
		"not a mapping":     {"- a\n", "config.yaml: is not a mapping of fields: should be a KubeletConfiguration"},
		"two documents":     {header + "---\n" + header, "config.yaml: has several documents: should be one KubeletConfiguration"},
		"no apiVersion":     {"kind: KubeletConfiguration\n", `config.yaml: apiVersion: is "": should be kubelet.config.k8s.io/v1beta1`},
		"another kind":      {"apiVersion: kubelet.config.k8s.io/v1beta1\nkind: Pod\n", `config.yaml: kind: is "Pod": should be KubeletConfiguration`},
		"unknown":           {header + "authentication: {x509: {clientCA: a}}\n", `config.yaml: unknown field "authentication.x509.clientCA"`},
		"case matters":      {header + "maxpods: 5\n", `config.yaml: unknown field "maxpods"`},
		"repeated":          {header + "port: 1\nport: 2\n", `config.yaml: line 4: the key "port" is there twice; remove one`},
		"syntax":            {"# mine\n---\n" + header + "authentication:\n  anonymous: {enabled: false}\n webhook: {}\n", "config.yaml: line 7: YAML syntax: did not find expected key; look for a wrong indentation or a missing quote near this line"},
		"a template":        {header + "{{ .Values.kubelet }}\n", "config.yaml: line 3: YAML syntax: {{ .Values.kubelet }}; this looks like a template that was not rendered: pass on what is made of it, such as the output of helm template"},
		"wrong type":        {header + "maxPods: many\n", `config.yaml: maxPods: is "many": should be of type int32`},
		"number for a time": {header + "authentication: {webhook: {cacheTTL: 5}}\n", `config.yaml: authentication.webhook.cacheTTL: is 5: should be of type string`},
		"no time":           {header + "syncFrequency: soon\n", `config.yaml: syncFrequency: is "soon": time: invalid duration "soon"`},
		"invalid":           {header + "port: 70000\n", `config.yaml: port: Invalid value: 70000: should be from 1 to 65535`},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(write(t, map[string]string{"config.yaml": test.content}), "config.yaml")
			_, err := Load(file, "")
			assert.Require(t, err != nil, "no error")
			got := strings.ReplaceAll(err.Error(), filepath.Dir(file)+"/", "")
			assert.True(t, strings.HasSuffix(got, test.want), "got  %s\nwant …%s", got, test.want)
		})
	}
}

func TestMissingFiles(t *testing.T) {
	dir := t.TempDir()
	assert.ErrorContains(t, "none.yaml: no such file", assert.ErrorOf(Load(filepath.Join(dir, "none.yaml"), "")), "file")
	assert.ErrorContains(t, "none: no such file", assert.ErrorOf(Load("", filepath.Join(dir, "none"))), "folder")
}

// TestErrorNamesDropIn: of several files the one with the wrong value is named.
func TestErrorNamesDropIn(t *testing.T) {
	dir := write(t, map[string]string{
		"config.yaml": header + "port: 1000",
		"d/1.conf":    header + "crashLoopBackOff: {maxContainerRestartPeriod: 10m}",
	})
	_, err := Load(filepath.Join(dir, "config.yaml"), filepath.Join(dir, "d"))
	want := "configuration " + dir + `/d/1.conf: crashLoopBackOff.maxContainerRestartPeriod: Invalid value: "10m0s": should be from 1s to 5m0s`
	assert.Error(t, want, err)
}

// A file below another one has what that one doesn't say, as if both were one file: a
// default that follows from a field follows from either's.
func TestLoadOver(t *testing.T) {
	dir := write(t, map[string]string{
		"below.yaml": header + "clusterDomain: below.example\nmaxPods: 20\nauthentication: {x509: {clientCAFile: ca.crt}}\n",
		"above.yaml": header + "maxPods: 30\nnodeStatusUpdateFrequency: 7s\nauthentication: {anonymous: {enabled: false}}\n",
		"d/1.conf":   header + "podsPerCore: 3\n",
	})
	below, above := filepath.Join(dir, "below.yaml"), filepath.Join(dir, "above.yaml")
	c := assert.Get(LoadOver(below, above, filepath.Join(dir, "d"))).Must(t)
	k := c.Kubelet
	got := []any{k.ClusterDomain, k.MaxPods, k.NodeStatusReportFrequency.Duration, k.Authentication.X509.ClientCAFile, k.PodsPerCore}
	assert.Deep(t, "", []any{"below.example", int32(30), 7 * time.Second, filepath.Join(dir, "ca.crt"), int32(3)}, got)
	for field, file := range map[string]string{"clusterDomain": below, "maxPods": above, "podsPerCore": filepath.Join(dir, "d/1.conf")} {
		assert.Equal(t, file, c.From[field], "%s is from", field)
	}
	for _, only := range [][2]string{{below, ""}, {"", below}} {
		c, err := LoadOver(only[0], only[1], "")
		assert.True(t, err == nil && c.Kubelet.MaxPods == 20, "one file alone: %v", err)
	}
}
