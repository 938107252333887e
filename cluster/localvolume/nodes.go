package localvolume

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	corelisters "k8s.io/client-go/listers/core/v1"

	"github.com/lifepod/lifepod/cluster/pki"
	"github.com/lifepod/lifepod/node/localdriver"
)

type drivers interface {
	On(node string) (csi.ControllerClient, error)
	Holding(id string) (csi.ControllerClient, error)
}

// Nodes are the drivers of the cluster's nodes.
type Nodes struct {
	keys  *pki.Folder
	nodes corelisters.NodeLister

	mu    sync.Mutex
	conns map[string]*grpc.ClientConn // by address
}

// NewNodes calls drivers with the API server's credentials. Close ends the connections.
func NewNodes(keys *pki.Folder, nodes corelisters.NodeLister) *Nodes {
	return &Nodes{keys: keys, nodes: nodes, conns: map[string]*grpc.ClientConn{}}
}

// Holding is the driver of the node that has a volume or a snapshot.
func (n *Nodes) Holding(id string) (csi.ControllerClient, error) {
	node, err := localdriver.NodeOf(id)
	if err != nil {
		return nil, err
	}
	return n.On(node)
}

func (n *Nodes) On(node string) (csi.ControllerClient, error) {
	object, err := n.nodes.Get(node)
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("node %s is not in the cluster: its volumes can't be reached", node)
	}
	if err != nil {
		return nil, err
	}
	address, err := addressOf(object)
	if err != nil {
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	conn := n.conns[address]
	if conn == nil {
		if conn, err = n.dial(address); err != nil {
			return nil, fmt.Errorf("node %s: %w", node, err)
		}
		n.conns[address] = conn
	}
	return csi.NewControllerClient(conn), nil
}

// Close ends the connections; calls that are under way fail.
func (n *Nodes) Close() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	var errs []error
	for address, conn := range n.conns {
		errs = append(errs, conn.Close())
		delete(n.conns, address)
	}
	return errors.Join(errs...)
}

// dial connects when the first call is made. The certificate is read at each connection: it
// is renewed in its file.
func (n *Nodes) dial(address string) (*grpc.ClientConn, error) {
	authority, err := os.ReadFile(n.keys.CA())
	if err != nil {
		return nil, fmt.Errorf("certificate authority: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(authority) {
		return nil, fmt.Errorf("no certificate in %s", n.keys.CA())
	}
	config := &tls.Config{
		MinVersion: tls.VersionTLS12,
		RootCAs:    pool,
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			pair, err := tls.LoadX509KeyPair(n.keys.KubeletClient(), n.keys.KubeletClientKey())
			return &pair, err
		},
	}
	return grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(credentials.NewTLS(config)), grpc.WithDisableServiceConfig(),
		// A node that has gone without a word holds nobody up until the deadline of the call.
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 20 * time.Second, Timeout: 10 * time.Second}))
}

// addressOf is where a node's API is, host and port.
func addressOf(node *v1.Node) (string, error) {
	port := node.Status.DaemonEndpoints.KubeletEndpoint.Port
	for _, a := range node.Status.Addresses {
		if a.Type == v1.NodeInternalIP && port != 0 {
			return net.JoinHostPort(a.Address, strconv.Itoa(int(port))), nil
		}
	}
	return "", fmt.Errorf("node %s has no address yet", node.Name)
}
