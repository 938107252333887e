package nodes

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
	kubeletconfig "k8s.io/kubelet/config/v1beta1"

	"github.com/lifepod/lifepod/node/config"
	"github.com/lifepod/lifepod/node/server"
)

// Serve is how the API of the nodes is served. All of them have one, at one address and port.
type Serve struct {
	// IP is the address at which API servers reach it, which the Nodes have; nil: that of this machine by which it
	// reaches the API server, or its main one if that is a loopback address.
	IP   net.IP
	Bind string // the address to listen at; empty: all
	Port int32  // 0: one that is free
	// CertFile and KeyFile are the serving certificate; empty: the nodes make one, see certificate.
	CertFile, KeyFile string
	// SelfSigned says that the cluster is not asked to sign the certificate that the nodes make.
	SelfSigned bool
	// Open lets everybody do everything that the API can do, which is no more than reading.
	Open bool
}

// api is the nodes' API.
type api struct {
	server *server.Server
	serve  Serve
	port   int32
	pair   *certificate
}

// newAPI listens, so that the Nodes can say where.
func (s *set) newAPI() (*api, error) {
	a := &api{serve: s.Serve}
	if a.serve.IP == nil {
		ip, err := ownIP(s.API)
		if err != nil {
			return nil, fmt.Errorf("find the address of the nodes' API: %w", err)
		}
		a.serve.IP = ip
	}
	pair, err := s.newCertificate(a.serve)
	if err != nil {
		return nil, err
	}
	a.pair = pair
	authorities := &clusterCA{client: s.client, log: s.Log}
	a.server, err = server.New(server.Config{
		NodeOf: s.nodeOf, Kubelet: a.serve.configuration(), Client: s.client, ClientCA: authorities.options,
		TLS:  &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: pair.get, NextProtos: []string{"h2", "http/1.1"}},
		Node: s.all(), Logs: s.Pods.Logs, Changes: s.changes, Runtime: without{}, Log: s.Log,
	})
	if err != nil {
		return nil, err
	}
	if err := a.server.Listen(); err != nil {
		return nil, err
	}
	a.port = int32(a.server.Addr().(*net.TCPAddr).Port) //nolint:gosec // a port
	return a, nil
}

// configuration is that of a kubelet, without what is of a machine.
func (s Serve) configuration() *kubeletconfig.KubeletConfiguration {
	k := config.Default().Kubelet
	k.Address, k.Port, k.ReadOnlyPort = s.Bind, s.Port, 0
	if k.Address == "" {
		k.Address = "0.0.0.0"
		if s.IP.To4() == nil {
			k.Address = "::"
		}
	}
	k.EnableSystemLogHandler = new(false)
	k.FeatureGates = map[string]bool{"ContainerCheckpoint": false}
	if s.Open {
		k.Authentication.Anonymous.Enabled, k.Authentication.Webhook.Enabled = new(true), new(false)
		k.Authorization.Mode = kubeletconfig.KubeletAuthorizationModeAlwaysAllow
	}
	return k
}

// addresses are those of each Node. A Node has no name as an address: API servers that prefer names would look it up.
func (a *api) addresses() []v1.NodeAddress {
	return []v1.NodeAddress{{Type: v1.NodeInternalIP, Address: a.serve.IP.String()}}
}

// ownIP is the address of this machine at which an API server can reach it.
func ownIP(c *rest.Config) (net.IP, error) {
	host := c.Host
	if parsed, err := url.Parse(host); err == nil && parsed.Host != "" {
		host = parsed.Host
	}
	if _, _, err := net.SplitHostPort(host); err != nil {
		host = net.JoinHostPort(host, "443")
	}
	connection, err := net.Dial("udp", host) // nothing is sent
	if err != nil {
		return nil, err
	}
	defer func() { _ = connection.Close() }() // nothing was sent
	ip := connection.LocalAddr().(*net.UDPAddr).IP
	if ip.IsLoopback() { // the API server is here, and proxies nothing to loopback addresses
		if main, err := utilnet.ResolveBindAddress(nil); err == nil {
			return main, nil
		}
	}
	return ip, nil
}

// all is what the API shows: the pods of all nodes.
func (s *set) all() server.Node { return everyNode{s} }

type everyNode struct{ set *set }

// Pods are those of all nodes.
func (e everyNode) Pods() (list []*v1.Pod) {
	for _, n := range e.set.known() {
		list = append(list, n.pods.Pods()...)
	}
	return list
}

// Pod finds one by its name.
func (e everyNode) Pod(namespace, name string) (*v1.Pod, bool) {
	return e.set.find(namespace+"/"+name, func(n *node) (*v1.Pod, bool) { return n.pods.Pod(namespace, name) })
}

// PodByUID finds one by its UID.
func (e everyNode) PodByUID(uid types.UID) (*v1.Pod, bool) {
	return e.set.find(string(uid), func(n *node) (*v1.Pod, bool) { return n.pods.PodByUID(uid) })
}

// Healthy is why nodes do not go on with their pods, nil if all do.
func (e everyNode) Healthy() error {
	var errs []error
	for _, n := range e.set.known() {
		if err := n.pods.Healthy(); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", n.name, err))
		}
	}
	return errors.Join(errs...)
}

// nodeOf is the node of a pod; empty: there is no such pod.
func (s *set) nodeOf(namespace, pod string) string {
	if found, is := s.all().Pod(namespace, pod); is {
		return found.Spec.NodeName
	}
	return ""
}

// known are the nodes that were made so far.
func (s *set) known() []*node {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.nodes // which only grows
}

// rememberedHomes is how many pods are remembered that were asked for, with their nodes.
const rememberedHomes = 1024

// find asks the nodes for a pod, first the one that had it the last time. Of several pods of one name it is the newest: another
// node may still be ending the one before.
func (s *set) find(key string, ask func(*node) (*v1.Pod, bool)) (pod *v1.Pod, found bool) {
	s.mu.Lock()
	home := s.homes[key]
	s.mu.Unlock()
	if home != nil {
		if pod, found := ask(home); found && pod.DeletionTimestamp == nil {
			return pod, true
		}
	}
	for _, n := range s.known() {
		if one, is := ask(n); is && (!found || pod.CreationTimestamp.Before(&one.CreationTimestamp)) {
			pod, found, home = one, true, n
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.homes) >= rememberedHomes {
		clear(s.homes)
	}
	if delete(s.homes, key); found {
		s.homes[key] = home
	}
	return pod, found
}
