package cluster

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lifepod/lifepod/e2e/machine"
	"github.com/lifepod/lifepod/internal/assert"
)

// kubeletFile is a KubeletConfiguration with some fields.
func kubeletFile(t *testing.T, fields string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubelet.yaml")
	text := "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n" + fields
	assert.Must(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

// What the cluster decides is refused by name; what it decides just so, and everything
// else, is taken.
func TestNodeConfig(t *testing.T) {
	for fields, want := range map[string]string{
		"featureGates: {PodLogsQuerySplitStreams: true}":     "featureGates can't be said there: want --feature-gates, which are for all parts alike",
		"clusterDomain: example.com":                         "clusterDomain can't be said there: the cluster's DNS has cluster.local",
		"authentication: {x509: {clientCAFile: /etc/ca}}":    "authentication.x509.clientCAFile can't be said there: its certificates",
		"rotateCertificates: true":                           "rotateCertificates can't be said there: its certificates",
		"registerNode: false":                                "registerNode can't be said there: want --disable node",
		"containerRuntimeEndpoint: unix:///run/crio":         "containerRuntimeEndpoint can't be said there: it has the carried runtime",
		"cgroupRoot: /pods":                                  "cgroupRoot can't be said there: its pods are in the cgroup",
		"maxPods: many":                                      "maxPods",
		"clusterDomain: cluster.local\nregisterNode: true":   "",
		"maxPods: 20\nclusterDNS: [192.0.2.53]\nport: 10350": "",
	} {
		file := kubeletFile(t, fields)
		_, err := loadNodeConfig(file, decidedByUp)
		if want == "" && err != nil || want != "" && (err == nil || !strings.HasPrefix(err.Error(), "--config") || !strings.Contains(err.Error(), file) || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: error %v, want %q", fields, err, want)
		}
	}
	for fields, refused := range map[string]bool{
		"rotateCertificates: false":                  true,
		"containerRuntimeEndpoint: unix:///run/crio": true,
		"cgroupRoot: /pods":                          true,
		"featureGates: {AllBeta: true}":              false,
	} {
		_, err := loadNodeConfig(kubeletFile(t, fields), decidedByJoin(true))
		assert.True(t, (err != nil) == refused, "of join: %s: error %v", fields, err)
	}
}

// The port of the node's API is the flag's, the configuration's, or that of before; one
// that is taken is refused only where it was asked for.
func TestNodePort(t *testing.T) {
	taken := assert.Get(net.Listen("tcp", "0.0.0.0:0")).Must(t)
	defer func() { _ = taken.Close() }()
	busy := taken.Addr().(*net.TCPAddr).Port
	for name, test := range map[string]struct {
		c       Config
		before  int
		want    int
		refused bool
	}{
		"flag":                 {c: Config{NodePort: 23461, NodeConfig: kubeletFile(t, "port: 23462")}, want: 23461},
		"configuration":        {c: Config{NodeConfig: kubeletFile(t, "port: 23462")}, before: 23463, want: 23462},
		"before":               {c: Config{NodeConfig: kubeletFile(t, "maxPods: 3")}, before: 23463, want: 23463},
		"flag, taken":          {c: Config{NodePort: busy}, refused: true},
		"configuration, taken": {c: Config{NodeConfig: kubeletFile(t, fmt.Sprintf("port: %d", busy))}, refused: true},
		"before, taken":        {before: busy},
	} {
		l := &layout{Config: test.c}
		err := l.chooseNodePort(test.before)
		switch {
		case test.refused != (err != nil) || err != nil && !strings.Contains(err.Error(), "give another with --port"):
			t.Errorf("%s: error %v", name, err)
		case test.want != 0 && l.ports.Node != test.want || !test.refused && l.ports.Node == busy:
			t.Errorf("%s: port %d, want %d", name, l.ports.Node, test.want)
		}
		l.releasePorts()
	}
}

// The node has the gates that concern nodes, as the user sets them.
func TestNodeGates(t *testing.T) {
	l := named(t, "", &machine.Log{})
	l.FeatureGates = map[string]bool{"PodLogsQuerySplitStreams": true, "CRDValidationRatcheting": true, "NoneOfTheKubelets": true}
	assert.Must(t, l.chooseServices())
	keys := assert.Get(l.openKeys()).Must(t)
	text := assert.Get(l.nodeConfig(keys)).Must(t)
	var got struct {
		FeatureGates map[string]bool
		PodPidsLimit int64
	}
	assert.Must(t, json.Unmarshal(text, &got))
	want := map[string]bool{"PodLogsQuerySplitStreams": true, "CRDValidationRatcheting": true}
	assert.Deep(t, "", want, got.FeatureGates)
	assert.Deep(t, "A-RES-8 podPidsLimit", int64(4096), got.PodPidsLimit)
}
