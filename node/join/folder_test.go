package join

import (
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/yaml"

	"github.com/lifepod/lifepod/internal/assert"
)

// TestFolder is how joining goes on over several starts.
func TestFolder(t *testing.T) {
	f := Folder{Dir: filepath.Join(t.TempDir(), "join"), Logs: "/logs"}
	state := func(want State) {
		t.Helper()
		got := assert.Get(f.State()).Must(t)
		assert.Deep(t, "", want, got)
	}
	state(State{})
	network := Network{Pods: netip.MustParsePrefix("10.42.0.0/16"), Services: netip.MustParsePrefix("10.43.0.0/16")}
	before, err := f.Network()
	assert.True(t, err == nil && before == (Network{}), "before joining: network %v, error %v", before, err)
	c := &Cluster{Server: "https://192.0.2.1:6443", Authority: []byte("PEM"), token: token}
	assert.Must(t, f.Write(c, "kind: KubeletConfiguration\nauthentication: {x509: {clientCAFile: /etc/x}, webhook: {enabled: true}}\nclusterDNS: [10.0.0.10]\n", network))
	state(State{Server: c.Server, Invited: true})
	after, err := f.Network()
	assert.True(t, err == nil && after == network, "network %v, error %v; want %v", after, err, network)
	text := assert.Get(os.ReadFile(f.Configuration())).Must(t)
	want := map[string]any{
		"kind": "KubeletConfiguration", "clusterDNS": []any{"10.0.0.10"}, "rotateCertificates": true, "podLogsDir": "/logs",
		"authentication": map[string]any{"x509": map[string]any{"clientCAFile": f.Authority()}, "webhook": map[string]any{"enabled": true}},
	}
	var got map[string]any
	assert.Must(t, yaml.Unmarshal(text, &got))
	assert.Deep(t, "configuration", want, got)
	err = filepath.WalkDir(f.Dir, func(path string, entry fs.DirEntry, err error) error {
		if info, e := entry.Info(); err == nil && e == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %o", path, info.Mode().Perm())
		}
		return err
	})
	assert.NoError(t, err)

	kubeconfig := clientcmdapi.NewConfig() // with a certificate that is gone
	kubeconfig.Clusters["c"] = &clientcmdapi.Cluster{Server: c.Server}
	kubeconfig.AuthInfos["u"] = &clientcmdapi.AuthInfo{ClientCertificate: f.CertDir() + "/none.pem", ClientKey: f.CertDir() + "/none.pem"}
	assert.Must(t, clientcmd.WriteToFile(*kubeconfig, f.Kubeconfig()))
	for range 2 { // twice is no error
		assert.Must(t, f.Joined())
	}
	state(State{Server: c.Server})
}

// TestConfigurationRefused: another kind, or no YAML, is reported.
func TestConfigurationRefused(t *testing.T) {
	c := &Cluster{Server: "https://192.0.2.1:6443", token: token}
	for text, want := range map[string]string{
		"kind: Pod": "its kind is Pod, want KubeletConfiguration",
		"kind: [":   "configuration of nodes: ",
		"":          "its kind is <nil>",
	} {
		f := Folder{Dir: filepath.Join(t.TempDir(), "join")}
		assert.ErrorContains(t, want, f.Write(c, text, Network{}), text)
		assert.Fails(t, assert.ErrorOf(os.Stat(f.Dir)), text, ": something is written")
	}
}

// TestNameIsFree: a node of the name that is ready is another machine's.
func TestNameIsFree(t *testing.T) {
	s := newServer(t)
	c := assert.Get(s.discover(Invitation{Unpinned: true})).Must(t)
	assert.NoError(t, c.NameIsFree(t.Context(), "n2"), "no such node")
	s.node = &v1.Node{}
	s.node.APIVersion, s.node.Kind = "v1", "Node"
	s.node.Status.Conditions = []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionUnknown}}
	assert.NoError(t, c.NameIsFree(t.Context(), "n2"), "a node that is gone")
	s.node.Status.Conditions[0].Status = v1.ConditionTrue
	assert.ErrorContains(t, "choose another name with --hostname-override", c.NameIsFree(t.Context(), "n2"), "a node that is ready")
}
