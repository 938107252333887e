package cluster

import (
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"sigs.k8s.io/yaml"

	"github.com/lifepod/lifepod/cluster/apiserver"
	"github.com/lifepod/lifepod/cluster/token"
	"github.com/lifepod/lifepod/internal/assert"
)

// What is no feature gate, and a value that one can't have, is one error, with the
// names that may be meant.
func TestCheckGates(t *testing.T) {
	for gates, want := range map[string]string{
		"PodLogsQuerySplitStream=true": "--feature-gates: PodLogsQuerySplitStream is no feature gate of Kubernetes 1.37: did you mean PodLogsQuerySplitStreams?",
		"podcertificaterequest=true":   "--feature-gates: podcertificaterequest is no feature gate of Kubernetes 1.37: did you mean PodCertificateRequest?",
		"Xyzzy=true":                   "--feature-gates: Xyzzy is no feature gate of Kubernetes 1.37",
		"ImageVolume=false":            "--feature-gates: cannot set feature gate ImageVolume to false, feature is locked to true",
		"PodLogsQuerySplitStreams=true,PodCertificateRequest=true": "",
		"ClusterTrustBundle=false":                                 "",
		"AllAlpha=true,AllBeta=true":                               "",
	} {
		c := Config{FeatureGates: map[string]bool{}}
		for pair := range strings.SplitSeq(gates, ",") {
			name, value, _ := strings.Cut(pair, "=")
			c.FeatureGates[name] = value == "true"
		}
		err := c.checkGates()
		assert.True(t, (want != "" || err == nil) && (want == "" || err != nil && err.Error() == want), "%s: error %v, want %q", gates, err, want)
	}
	assert.True(t, !utilfeature.DefaultFeatureGate.Enabled("PodLogsQuerySplitStreams"), "checking has set a gate")
}

func TestCheckRuntimeConfig(t *testing.T) {
	for said, want := range map[string]string{
		"":                            "",
		"api/alpha=true":              "",
		"apps/v1=true":                "",
		"scheduling.k8s.io/v1=nonono": "--runtime-config: invalid value of scheduling.k8s.io/v1: nonono",
		"nosuch.k8s.io/v1=true":       "--runtime-config: unknown api groups nosuch.k8s.io/v1",
		"apps/v9=true":                "--runtime-config: group version apps/v9 that has not been registered",
		"apps=true":                   "--runtime-config: invalid key apps: want group/version=true",
		"api/all=false":               "--runtime-config: invalid runtime-config with only api/all=false",
	} {
		user := map[string]string{}
		if key, value, found := strings.Cut(said, "="); found {
			user[key] = value
		}
		err := apiserver.CheckRuntimeConfig(user)
		assert.True(t, (want != "" || err == nil) && (want == "" || err != nil && strings.HasPrefix(err.Error(), want)),
			"%q: error %v, want %q", said, err, want)
	}
}

// A gate is on in all parts: the API server has its API, the controllers run, and nodes
// that join are told. An API that is turned off is not there.
func TestFeatureGates(t *testing.T) {
	if !ownProcess(t) { // gates stay as they are set
		return
	}
	gates := map[string]bool{"PodCertificateRequest": true, "StorageVersionMigrator": true}
	s := startCluster(t, Config{Disable: withoutNode, FeatureGates: gates, RuntimeConfig: map[string]string{
		"autoscaling/v1": "false", "storage.k8s.io/v1beta1": "false",
	}})
	for version, want := range map[string]string{
		"certificates.k8s.io/v1":          "podcertificaterequests",
		"storagemigration.k8s.io/v1beta1": "storageversionmigrations",
		"autoscaling/v1":                  "",
		"autoscaling/v2":                  "horizontalpodautoscalers",
	} {
		list, err := s.client.Discovery().ServerResourcesForGroupVersion(version)
		has := err == nil && slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Name == want })
		assert.True(t, (want != "" || err != nil) && (want == "" || has), "%s: want %q in it: error %v", version, want, err)
	}
	s.said(t, "ready")
	config := s.joiningNodes(t)
	got := config["featureGates"]
	assert.True(t, got != nil && got.(map[string]any)["PodCertificateRequest"] == true, "joining nodes are told the gates %v", got)
	assert.True(t, !strings.Contains(s.log.String(), "has failed"), "a part has failed")
}

// joiningNodes is the configuration of nodes that join.
func (s *testCluster) joiningNodes(t *testing.T) map[string]any {
	t.Helper()
	var fields map[string]any
	s.await(t, "the configuration of joining nodes", func() error {
		found, err := s.client.CoreV1().ConfigMaps(metav1.NamespaceSystem).Get(t.Context(), token.NodeConfigMap, metav1.GetOptions{})
		if err != nil {
			return err
		}
		return yaml.Unmarshal([]byte(found.Data[token.NodeConfigKey]), &fields)
	})
	return fields
}
