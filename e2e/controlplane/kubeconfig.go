package controlplane

import (
	"crypto/x509/pkix"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/lifepod/lifepod/internal/wholefile"
)

// Kubeconfig is the path of an administrator's kubeconfig file.
func (c *ControlPlane) Kubeconfig() string { return c.file(adminKubeconfig) }

// CAFile is the path of the certificate authority that signs the API server's
// certificate and all client certificates: what a kubelet's
// authentication.x509.clientCAFile names.
func (c *ControlPlane) CAFile() string { return c.file(caName + ".crt") }

// Port is where the API server listens.
func (c *ControlPlane) Port() int { return c.port }

// URL is the API server's address for processes of this machine. Pods reach it at the machine's addresses.
func (c *ControlPlane) URL() string { return "https://127.0.0.1:" + strconv.Itoa(c.port) }

// RESTConfig is an administrator's client configuration, without a rate limit
// and with protobuf for the types that have it. Each call makes a new one.
func (c *ControlPlane) RESTConfig() *rest.Config {
	config := rest.CopyConfig(c.admin)
	config.QPS = -1
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeProtobuf, runtime.ContentTypeProtobuf+","+runtime.ContentTypeJSON
	return config
}

// NodeKubeconfig writes a kubeconfig file for the kubelet of the named node (user
// system:node:NAME in the group system:nodes) and returns its path. The Node
// authorizer and NodeRestriction limit it to what concerns that node. Certificate
// and key are inside: a kubelet that rotates certificates replaces them at once.
func (c *ControlPlane) NodeKubeconfig(node string) (string, error) {
	path, err := c.nodeFile(node + ".kubeconfig")
	if err != nil {
		return "", err
	}
	return path, c.writeClientKubeconfig(path, nodeUser(node), nodesGroup)
}

// JoinedKubeconfig is NodeKubeconfig as it is on a node that has joined: it names
// the file of certificate and key, which stay until they are about to expire.
func (c *ControlPlane) JoinedKubeconfig(node string) (string, error) {
	path, err := c.nodeFile(node + ".joined.kubeconfig")
	if err != nil {
		return "", err
	}
	pair, err := c.ca.client(nodeUser(node), nodesGroup)
	if err != nil {
		return "", err
	}
	both := strings.TrimSuffix(path, ".kubeconfig") + ".pem"
	if err := os.WriteFile(both, slices.Concat(pair.certificate, pair.key), 0o600); err != nil {
		return "", err
	}
	return path, c.writeKubeconfig(path, nodeUser(node), &clientcmdapi.AuthInfo{ClientCertificate: both, ClientKey: both})
}

// ServingCertificate writes BASE.crt and BASE.key, with which a node serves its API at the addresses of this machine and
// further ones, and returns BASE. lifepod up believes no other certificate than one of its authority.
func (c *ControlPlane) ServingCertificate(node string, addresses ...net.IP) (base string, err error) {
	if base, err = c.nodeFile(node); err != nil {
		return "", err
	}
	own, err := net.InterfaceAddrs()
	if err != nil {
		return "", err
	}
	for _, address := range own {
		if network, is := address.(*net.IPNet); is {
			addresses = append(addresses, network.IP)
		}
	}
	pair, err := c.ca.serving(pkix.Name{CommonName: nodeUser(node), Organization: []string{nodesGroup}}, []string{node}, addresses)
	if err != nil {
		return "", err
	}
	return base, pair.write(base)
}

const nodesGroup = "system:nodes"

func nodeUser(node string) string { return "system:node:" + node }

// nodeFile is the path of a file in the folder for what nodes are given.
func (c *ControlPlane) nodeFile(name string) (string, error) {
	dir := c.file("nodes")
	return filepath.Join(dir, name), os.MkdirAll(dir, 0o700)
}

// writeClientKubeconfig writes a kubeconfig file with a certificate of its own.
func (c *ControlPlane) writeClientKubeconfig(path, user string, groups ...string) error {
	pair, err := c.ca.client(user, groups...)
	if err != nil {
		return err
	}
	return c.writeKubeconfig(path, user, &clientcmdapi.AuthInfo{ClientCertificateData: pair.certificate, ClientKeyData: pair.key})
}

func (c *ControlPlane) writeKubeconfig(path, user string, credentials *clientcmdapi.AuthInfo) error {
	const cluster = "test"
	config := clientcmdapi.NewConfig()
	config.Clusters[cluster] = &clientcmdapi.Cluster{Server: c.URL(), CertificateAuthorityData: encodeCertificate(c.ca.certificate.Raw)}
	config.AuthInfos[user] = credentials
	config.Contexts[cluster] = &clientcmdapi.Context{Cluster: cluster, AuthInfo: user}
	config.CurrentContext = cluster
	if err := writeWhole(*config, path); err != nil {
		return fmt.Errorf("write kubeconfig of %q: %w", user, err)
	}
	return nil
}

// writeWhole writes a kubeconfig that is complete whenever it is read: tests ask for
// the same node's at the same time.
func writeWhole(config clientcmdapi.Config, path string) error {
	text, err := clientcmd.Write(config)
	if err != nil {
		return err
	}
	return wholefile.Write(path, text)
}
