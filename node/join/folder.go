package join

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/yaml"

	"github.com/lifepod/lifepod/internal/rootfolder"
	"github.com/lifepod/lifepod/internal/wholefile"
)

// Folder keeps what a node needs of its cluster.
type Folder struct {
	Dir  string
	Logs string // folder of the pods' logs; "" leaves it to the cluster's configuration
}

// Files of the node. Kubeconfig and what is in CertDir are written when the cluster
// has signed the node's certificate; Bootstrap has the token, until then.
func (f Folder) Kubeconfig() string    { return filepath.Join(f.Dir, "kubeconfig") }
func (f Folder) Bootstrap() string     { return filepath.Join(f.Dir, "bootstrap.kubeconfig") }
func (f Folder) Configuration() string { return filepath.Join(f.Dir, "kubelet.yaml") }
func (f Folder) Authority() string     { return filepath.Join(f.Dir, "ca.crt") }
func (f Folder) CertDir() string       { return filepath.Join(f.Dir, "pki") }
func (f Folder) networkFile() string   { return filepath.Join(f.Dir, "network.json") }

// State is how far joining has come.
type State struct {
	Server string // of the cluster; "" before the first time
	// Member says that the node has a certificate that hasn't expired: no token is
	// needed.
	Member bool
	// Invited says that there is a token to go on with.
	Invited bool
}

// State looks at the files.
func (f Folder) State() (State, error) {
	var s State
	if _, err := os.Stat(f.Configuration()); errors.Is(err, fs.ErrNotExist) {
		return s, nil // nothing is whole before it
	}
	for _, path := range []string{f.Bootstrap(), f.Kubeconfig()} {
		config, err := clientcmd.LoadFromFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return s, fmt.Errorf("kubeconfig of the node: %w", err)
		}
		for _, cluster := range config.Clusters {
			s.Server = cluster.Server
		}
		if path == f.Bootstrap() {
			s.Invited = true
			continue
		}
		s.Member = hasCertificate(config, time.Now())
	}
	return s, nil
}

func hasCertificate(config *clientcmdapi.Config, now time.Time) bool {
	for _, user := range config.AuthInfos {
		pair, err := tls.LoadX509KeyPair(user.ClientCertificate, user.ClientKey)
		return err == nil && now.Before(pair.Leaf.NotAfter)
	}
	return false
}

// Write writes what a node begins with: the configuration, last, is the cluster's,
// with this machine's file of the authority, and certificates that are renewed.
func (f Folder) Write(c *Cluster, configuration string, n Network) error {
	network, err := json.Marshal(n)
	if err != nil {
		return err
	}
	node, err := f.configuration(configuration)
	if err != nil {
		return err
	}
	bootstrap, err := c.bootstrap()
	if err != nil {
		return err
	}
	if err := rootfolder.Ensure(f.Dir, 0o700); err != nil {
		return fmt.Errorf("make the folder of the cluster: %w", err)
	}
	for _, file := range []struct {
		path string
		text []byte
	}{{f.Authority(), c.Authority}, {f.Bootstrap(), bootstrap}, {f.networkFile(), network}, {f.Configuration(), node}} {
		if err := wholefile.Write(file.path, file.text); err != nil {
			return fmt.Errorf("write %s: %w", file.path, err)
		}
	}
	return nil
}

// Joined forgets the token, which nothing needs any more.
func (f Folder) Joined() error {
	if err := os.Remove(f.Bootstrap()); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func (f Folder) configuration(text string) ([]byte, error) {
	var fields map[string]any
	if err := yaml.Unmarshal([]byte(text), &fields); err != nil {
		return nil, fmt.Errorf("configuration of nodes: %w", err)
	}
	if kind := fields["kind"]; kind != "KubeletConfiguration" {
		return nil, fmt.Errorf("configuration of nodes: its kind is %v, want KubeletConfiguration", kind)
	}
	fields["rotateCertificates"] = true
	if f.Logs != "" {
		fields["podLogsDir"] = f.Logs
	}
	part(part(fields, "authentication"), "x509")["clientCAFile"] = f.Authority()
	return yaml.Marshal(fields)
}

// part is the object of a field, made if it isn't there.
func part(fields map[string]any, name string) map[string]any {
	object, isObject := fields[name].(map[string]any)
	if !isObject {
		object = map[string]any{}
		fields[name] = object
	}
	return object
}

// bootstrap is a kubeconfig with the token.
func (c *Cluster) bootstrap() ([]byte, error) {
	config := clientcmdapi.NewConfig()
	config.Clusters["cluster"] = &clientcmdapi.Cluster{Server: c.Server, CertificateAuthorityData: c.Authority}
	config.AuthInfos["token"] = &clientcmdapi.AuthInfo{Token: c.token}
	config.Contexts["bootstrap"] = &clientcmdapi.Context{Cluster: "cluster", AuthInfo: "token"}
	config.CurrentContext = "bootstrap"
	return clientcmd.Write(*config)
}

// The ConfigMap with the configuration of nodes is kubeadm's.
const (
	nodeConfigMap = "kubelet-config"
	nodeConfigKey = "kubelet"
)

// NodeConfiguration is the KubeletConfiguration that the cluster has for its nodes.
func (c *Cluster) NodeConfiguration(ctx context.Context) (string, error) {
	m, err := c.client.CoreV1().ConfigMaps(metav1.NamespaceSystem).Get(ctx, nodeConfigMap, metav1.GetOptions{})
	if err != nil {
		return "", fmt.Errorf("read the configuration of nodes, ConfigMap kube-system/%s: %w", nodeConfigMap, err)
	}
	text := m.Data[nodeConfigKey]
	if text == "" {
		return "", fmt.Errorf("the configuration of nodes, ConfigMap kube-system/%s, has no key %q", nodeConfigMap, nodeConfigKey)
	}
	return text, nil
}

// NameIsFree is an error if another machine is a node of this name and ready: two
// of one name would end each other's pods.
func (c *Cluster) NameIsFree(ctx context.Context, name string) error {
	node, err := c.client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) { // not every cluster lets a new node ask
		return nil
	}
	if err != nil {
		return fmt.Errorf("ask for node %s: %w", name, err)
	}
	for _, condition := range node.Status.Conditions {
		if condition.Type == v1.NodeReady && condition.Status == v1.ConditionTrue {
			return fmt.Errorf("there is a node %s in the cluster, and it is ready: choose another name with --hostname-override", name)
		}
	}
	return nil
}

// The ConfigMap in kube-system, of clusters of lifepod up, that says what network a
// joining node is part of.
const (
	NetworkConfigMap = "lifepod-network"
	NetworkKey       = "network.json"
)

// Network is what each node of a cluster does itself: routes to the pods of the
// others, and service traffic. It is zero in a cluster where others do that, such as
// one of kubeadm.
type Network struct {
	Pods     netip.Prefix `json:"pods,omitzero"`     // addresses of all nodes' pods
	Services netip.Prefix `json:"services,omitzero"` // addresses of services
}

// Network asks the cluster for it.
func (c *Cluster) Network(ctx context.Context) (n Network, err error) {
	m, err := c.client.CoreV1().ConfigMaps(metav1.NamespaceSystem).Get(ctx, NetworkConfigMap, metav1.GetOptions{})
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) { // other clusters have none, or say neither
		return n, nil
	}
	if err == nil {
		err = json.Unmarshal([]byte(m.Data[NetworkKey]), &n)
	}
	if err != nil {
		return n, fmt.Errorf("read the network of the cluster, ConfigMap kube-system/%s: %w", NetworkConfigMap, err)
	}
	return n, nil
}

// Network is what the cluster said when this machine joined.
func (f Folder) Network() (n Network, err error) {
	text, err := os.ReadFile(f.networkFile())
	if errors.Is(err, fs.ErrNotExist) {
		return n, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &n)
	}
	if err != nil {
		return n, fmt.Errorf("network of the cluster in %s: %w", f.networkFile(), err)
	}
	return n, nil
}
