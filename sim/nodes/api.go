package nodes

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	kubeletconfig "k8s.io/kubelet/config/v1beta1"

	"github.com/lifepod/lifepod/node/config"
	"github.com/lifepod/lifepod/node/server"
	"github.com/lifepod/lifepod/pods"
	"github.com/lifepod/lifepod/sim/live"
)

// Serve is how the API of the nodes is served. All of them have one, at one address and port.
type Serve struct {
	// IP is the address at which API servers reach it, which the Nodes have; nil: that of this machine by which it
	// reaches the API server, or its main one if that is a loopback address.
	IP   net.IP
	Bind string // the address to listen at; empty: all
	Port int32  // 0: one that is free
	// CertFile and KeyFile are the serving certificate; empty: one is made (trust.Certificate).
	CertFile, KeyFile string
	// SelfSigned says that the cluster is not asked to sign the certificate that the nodes make.
	SelfSigned bool
	// Open lets everybody do everything that the API can do, which is no more than reading.
	Open bool
}

// Loopback is for the API server of a test, which is on this machine, and has no certificate to show.
func Loopback() Serve {
	ip := net.IPv4(127, 0, 0, 1)
	return Serve{IP: ip, Bind: ip.String(), SelfSigned: true, Open: true}
}

type APIConfig struct {
	Serve   Serve
	Cluster *rest.Config         // the API server, whose side of this machine Serve.IP is unless it is said
	Client  kubernetes.Interface // of it
	Node    string               // one of the nodes, in whose name a certificate is asked for
	Pods    *live.Pods
	Speed   float64 // at which they live; 0: 1
	Log     *slog.Logger
}

type API struct {
	config  APIConfig
	server  *server.Server
	changes server.Changes
	pair    *Certificate

	mu    sync.Mutex
	nodes []*member
	homes map[string]*member // of pods that were asked for, by name or UID
}

type member struct {
	name  string
	pods  *pods.Shell
	shown func(*v1.Pod) *v1.Pod // a pod as the API server has it
	since time.Time             // it was added
	used  counter
}

// ListenAPI begins to listen, so that the Nodes can say where. Run serves.
func ListenAPI(c APIConfig) (*API, error) {
	a := &API{config: c, homes: map[string]*member{}}
	serve := &a.config.Serve
	if serve.IP == nil {
		ip, err := ownIP(c.Cluster)
		if err != nil {
			return nil, fmt.Errorf("find the address of the nodes' API: %w", err)
		}
		serve.IP = ip
	}
	var err error
	a.pair, err = NewCertificate(CertificateOptions{
		IP: serve.IP, Node: c.Node, CertFile: serve.CertFile, KeyFile: serve.KeyFile, SelfSigned: serve.SelfSigned, Client: c.Client, Log: c.Log,
	})
	if err != nil {
		return nil, err
	}
	authorities := &ClientCA{Client: c.Client, Log: c.Log}
	a.server, err = server.New(server.Config{
		Access: server.Access{NodeOf: a.nodeOf, ClientCA: authorities.Options}, Kubelet: serve.configuration(), Client: c.Client,
		TLS:  &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: a.pair.Get, NextProtos: []string{"h2", "http/1.1"}},
		Node: everyNode{a, &c.Pods.Logs}, Changes: &a.changes, Runtime: without{}, Log: c.Log,
		Figures: server.Figures{Resource: http.HandlerFunc(whichNode), ResourceOf: http.HandlerFunc(a.usageOf)},
	})
	if err != nil {
		return nil, err
	}
	return a, a.server.Listen()
}

// Run serves until ctx ends.
func (a *API) Run(ctx context.Context) error {
	var keeping sync.WaitGroup
	defer keeping.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	keeping.Go(func() { a.pair.Run(ctx) })
	return a.server.Serve(ctx)
}

// Add adds a node, of which pods are listed as shown has them.
func (a *API) Add(name string, pods *pods.Shell, shown func(*v1.Pod) *v1.Pod) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.nodes = append(a.nodes, &member{name: name, pods: pods, shown: shown, since: time.Now()})
}

// Remove ends what Add began: the node can't be asked.
func (a *API) Remove(name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	gone := func(n *member) bool { return n.name == name }
	a.nodes = slices.DeleteFunc(slices.Clone(a.nodes), gone) // known has given it out
	maps.DeleteFunc(a.homes, func(_ string, n *member) bool { return gone(n) })
}

// Changed tells that a pod has changed. It does not block.
func (a *API) Changed(uid types.UID) { a.changes.Changed(uid) }

// Port is where it listens.
func (a *API) Port() int32 { return int32(a.server.Addr().(*net.TCPAddr).Port) } //nolint:gosec // a port

// HostIP is where the nodes are, and the containers that use their network.
func (a *API) HostIP() string { return a.config.Serve.IP.String() }

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

// Addresses are those of each Node. A Node has no name as an address: API servers that prefer names would look it up.
func (a *API) Addresses() []v1.NodeAddress {
	return []v1.NodeAddress{{Type: v1.NodeInternalIP, Address: a.HostIP()}}
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

// everyNode is what the API shows: the pods of all nodes, and their logs.
type everyNode struct {
	api *API
	*live.Logs
}

func (e everyNode) Pods() (list []*v1.Pod) {
	for _, n := range e.api.known() {
		list = append(list, n.list()...)
	}
	return list
}

// list are the pods of a node as the API server has them.
func (n *member) list() (list []*v1.Pod) {
	for _, pod := range n.pods.Pods() {
		list = append(list, n.shown(pod))
	}
	return list
}

func (e everyNode) Pod(namespace, name string) (*v1.Pod, bool) {
	return e.api.find(namespace+"/"+name, func(n *member) (*v1.Pod, bool) { return n.pods.Pod(namespace, name) })
}

func (e everyNode) PodByUID(uid types.UID) (*v1.Pod, bool) {
	return e.api.find(string(uid), func(n *member) (*v1.Pod, bool) { return n.pods.PodByUID(uid) })
}

// Complete is nil: a node's pods are known as soon as it is.
func (e everyNode) Complete() <-chan struct{} { return nil }

// Healthy is why nodes do not go on with their pods, nil if all do.
func (e everyNode) Healthy() error {
	var errs []error
	for _, n := range e.api.known() {
		if err := n.pods.Healthy(); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", n.name, err))
		}
	}
	return errors.Join(errs...)
}

// nodeOf is the node of a pod; empty: there is no such pod.
func (a *API) nodeOf(namespace, pod string) string {
	if found, is := (everyNode{a, nil}).Pod(namespace, pod); is {
		return found.Spec.NodeName
	}
	return ""
}

// known are the nodes that can be asked.
func (a *API) known() []*member {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.nodes // what is in it does not change
}

// rememberedHomes is how many pods are remembered that were asked for, with their nodes.
const rememberedHomes = 1024

// find asks the nodes for a pod, first the one that had it the last time. Of several pods of one name it is the newest: another
// node may still be ending the one before.
func (a *API) find(key string, ask func(*member) (*v1.Pod, bool)) (pod *v1.Pod, found bool) {
	a.mu.Lock()
	home := a.homes[key]
	a.mu.Unlock()
	if home != nil {
		if pod, found := ask(home); found && pod.DeletionTimestamp == nil {
			return pod, true
		}
	}
	for _, n := range a.known() {
		if one, is := ask(n); is && (!found || pod.CreationTimestamp.Before(&one.CreationTimestamp)) {
			pod, found, home = one, true, n
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.homes) >= rememberedHomes {
		clear(a.homes)
	}
	if delete(a.homes, key); found {
		a.homes[key] = home
	}
	return pod, found
}
