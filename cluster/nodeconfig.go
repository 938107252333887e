package cluster

import (
	"errors"
	"fmt"
	"strings"

	kubeletconfig "k8s.io/kubelet/config/v1beta1"

	"github.com/lifepod/lifepod/node/config"
)

type kubelet = kubeletconfig.KubeletConfiguration

// decided is a field of a node's configuration that the cluster, or a flag, decides: a
// user's file may not say anything else of it.
type decided struct {
	field string
	other func(*kubelet) bool // it says something else
	why   string
}

const (
	ownAuthority = "its certificates are those of the cluster's authority"
	ownRuntime   = "it has the carried runtime"
)

// decidedByUp are those of the node of lifepod up.
var decidedByUp = []decided{
	{"featureGates", func(k *kubelet) bool { return len(k.FeatureGates) > 0 }, "want --feature-gates, which are for all parts alike"},
	{"clusterDomain", func(k *kubelet) bool { return k.ClusterDomain != dnsDomain }, "the cluster's DNS has " + dnsDomain},
	{"registerNode", func(k *kubelet) bool { return !*k.RegisterNode }, "want --disable node for a cluster without one"},
	{"authentication.x509.clientCAFile", func(k *kubelet) bool { return k.Authentication.X509.ClientCAFile != "" }, ownAuthority},
	{"tlsCertFile", func(k *kubelet) bool { return k.TLSCertFile != "" }, ownAuthority},
	{"tlsPrivateKeyFile", func(k *kubelet) bool { return k.TLSPrivateKeyFile != "" }, ownAuthority},
	{"serverTLSBootstrap", func(k *kubelet) bool { return k.ServerTLSBootstrap }, ownAuthority},
	{"rotateCertificates", func(k *kubelet) bool { return k.RotateCertificates }, ownAuthority},
	{"containerRuntimeEndpoint", func(k *kubelet) bool { return k.ContainerRuntimeEndpoint != "" }, ownRuntime},
	cgroupRoot,
}

var cgroupRoot = decided{
	"cgroupRoot", func(k *kubelet) bool { return k.CgroupRoot != "" && k.CgroupRoot != "/" }, "its pods are in the cgroup of the carried runtime",
}

// decidedByJoin are those of the node of lifepod join; runtime says that it has the
// carried one.
func decidedByJoin(runtime bool) []decided {
	list := []decided{
		{"authentication.x509.clientCAFile", func(k *kubelet) bool { return k.Authentication.X509.ClientCAFile != "" }, "it takes the cluster's authority only"},
		{"rotateCertificates", func(k *kubelet) bool { return !k.RotateCertificates }, "the node would lose its cluster when its certificate expires"},
		{"containerRuntimeEndpoint", func(k *kubelet) bool { return k.ContainerRuntimeEndpoint != "" }, "want --runtime-endpoint"},
	}
	if runtime {
		list = append(list, cgroupRoot)
	}
	return list
}

// loadNodeConfig reads a user's configuration of a node; nil without a file. What says
// something else than is decided is an error.
func loadNodeConfig(file string, by []decided) (*config.Config, error) {
	if file == "" {
		return nil, nil
	}
	c, err := config.Load(file, "")
	if err != nil {
		return nil, fmt.Errorf("--config: %w", err)
	}
	var errs []error
	for _, d := range by {
		first, _, _ := strings.Cut(d.field, ".")
		if c.Set(first) && d.other(c.Kubelet) {
			errs = append(errs, fmt.Errorf("--config %s: %s can't be said there: %s", file, d.field, d.why))
		}
	}
	return c, errors.Join(errs...)
}
