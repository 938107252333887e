package join

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"reflect"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/keyutil"

	"github.com/lifepod/lifepod/internal/wholefile"
)

// identity is what a kubeconfig says, with the content of the files it names.
type identity struct {
	config *rest.Config
	named  rest.TLSClientConfig // as the kubeconfig has it, with the names of files
	leaf   *x509.Certificate    // of the client; nil if it proves itself otherwise
	files  []string             // to look at again when they change
	route  *route
}

func (id *identity) expired(now time.Time) bool { return id.leaf != nil && now.After(id.leaf.NotAfter) }

// same says whether two identities make the same connections.
func (id *identity) same(other *identity) bool {
	if id == nil || other == nil {
		return id == other
	}
	if (id.leaf == nil) != (other.leaf == nil) || id.leaf != nil && !id.leaf.Equal(other.leaf) {
		return false
	}
	a, b := id.config, other.config
	return a.Host == b.Host && reflect.DeepEqual(withoutClient(a.TLSClientConfig), withoutClient(b.TLSClientConfig)) &&
		a.BearerToken == b.BearerToken && a.BearerTokenFile == b.BearerTokenFile &&
		a.Username == b.Username && a.Password == b.Password && a.Impersonate.UserName == b.Impersonate.UserName &&
		reflect.DeepEqual(a.ExecProvider, b.ExecProvider)
}

// withoutClient leaves what makes the server's side of a connection. A certificate is
// the same one in whatever file it is.
func withoutClient(c rest.TLSClientConfig) rest.TLSClientConfig {
	c.CertData, c.KeyData = nil, nil
	return c
}

// clusterStanza is a kubeconfig's description of its cluster.
type clusterStanza = *clientcmdapi.Cluster

// loadKubeconfig reads a kubeconfig; an error names the file, and is os.ErrNotExist
// where it holds for the kubeconfig itself.
func loadKubeconfig(path string) (*rest.Config, clusterStanza, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, nil, fmt.Errorf("read kubeconfig: %w", err)
	}
	rules := &clientcmd.ClientConfigLoadingRules{ExplicitPath: path}
	file, err := rules.Load()
	if err != nil {
		return nil, nil, fmt.Errorf("read kubeconfig %s: %w", path, err)
	}
	config, err := clientcmd.NewNonInteractiveClientConfig(*file, file.CurrentContext, &clientcmd.ConfigOverrides{}, rules).ClientConfig()
	if err != nil {
		return nil, nil, fmt.Errorf("read kubeconfig %s: %s", path, err) //nolint:errorlint // not os.ErrNotExist of a certificate
	}
	current := file.Contexts[file.CurrentContext]
	if current == nil || file.Clusters[current.Cluster] == nil {
		return nil, nil, fmt.Errorf("read kubeconfig %s: current-context %q: is no context with a cluster", path, file.CurrentContext)
	}
	cluster := file.Clusters[current.Cluster].DeepCopy()
	cluster.LocationOfOrigin = ""
	return config, cluster, nil
}

// read gives the identity that the kubeconfig and, with rotation, the folder of
// certificates say now.
func (c *Connection) read() (*identity, error) {
	path := c.options.Kubeconfig
	config, _, err := loadKubeconfig(path)
	if err != nil {
		return nil, err
	}
	id := &identity{config: config, named: config.TLSClientConfig, files: filesOf(path, config)}
	if c.rotates(config) {
		id.files = append(id.files, c.store.CurrentPath())
		c.takeRotated(config)
	}
	if err := rest.LoadTLSFiles(config); err != nil {
		return nil, fmt.Errorf("read kubeconfig %s: %s", path, err) //nolint:errorlint // the same
	}
	// The content counts: with the names client-go would look at the files itself,
	// every five minutes.
	config.CAFile, config.CertFile, config.KeyFile = "", "", ""
	if id.leaf, err = leafOf(config); err != nil {
		return nil, fmt.Errorf("read kubeconfig %s: client certificate: %w", path, err)
	}
	if id.route, err = newRoute(config); err != nil {
		return nil, fmt.Errorf("read kubeconfig %s: %w", path, err)
	}
	return id, nil
}

func filesOf(kubeconfig string, config *rest.Config) []string {
	out := []string{kubeconfig}
	for _, file := range []string{config.CAFile, config.CertFile, config.KeyFile} {
		if file != "" {
			out = append(out, file)
		}
	}
	return out
}

// files are those that change the node's credentials.
func (c *Connection) files() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.current == nil {
		return []string{c.options.Kubeconfig}
	}
	return c.current.files
}

// rotates says whether the client certificate of a kubeconfig is to be rotated.
func (c *Connection) rotates(config *rest.Config) bool {
	return c.options.Rotate && (config.CertFile != "" || len(config.CertData) > 0)
}

// takeRotated puts the certificate of the last rotation, unless it has expired, in
// the place of the kubeconfig's own, which may be the one the node began with.
func (c *Connection) takeRotated(config *rest.Config) {
	data, err := os.ReadFile(c.store.CurrentPath())
	if err != nil {
		return
	}
	pair, err := tls.X509KeyPair(data, data)
	if err != nil || pair.Leaf == nil || time.Now().After(pair.Leaf.NotAfter) {
		return
	}
	config.CertData, config.KeyData = data, data
}

// leafOf parses the client certificate; nil if there is none.
func leafOf(config *rest.Config) (*x509.Certificate, error) {
	if len(config.CertData) == 0 {
		return nil, nil
	}
	pair, err := tls.X509KeyPair(config.CertData, config.KeyData)
	if err != nil {
		return nil, err
	}
	return pair.Leaf, nil
}

// writeKubeconfig makes the kubeconfig of a node whose certificate and key are in
// the file pair. It is there as a whole or not at all.
func writeKubeconfig(path string, cluster clusterStanza, pair string) error {
	data, err := clientcmd.Write(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{"default-cluster": cluster},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{"default-auth": {ClientCertificate: pair, ClientKey: pair}},
		Contexts:       map[string]*clientcmdapi.Context{"default-context": {Cluster: "default-cluster", AuthInfo: "default-auth", Namespace: "default"}},
		CurrentContext: "default-context",
	})
	if err != nil {
		return fmt.Errorf("write kubeconfig %s: %w", path, err)
	}
	if err := wholefile.Write(path, data); err != nil {
		return fmt.Errorf("write kubeconfig: %w", err)
	}
	return nil
}

// isKey says whether PEM data has a private key.
func isKey(data []byte) bool {
	block, _ := pem.Decode(data)
	if block == nil {
		return false
	}
	_, err := keyutil.ParsePrivateKeyPEM(data)
	return err == nil
}
