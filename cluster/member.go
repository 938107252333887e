package cluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/lifepod/lifepod/cluster/controllers"
	"github.com/lifepod/lifepod/cluster/localvolume"
	"github.com/lifepod/lifepod/cluster/proxy"
	"github.com/lifepod/lifepod/cluster/routes"
	"github.com/lifepod/lifepod/internal/rootfolder"
	"github.com/lifepod/lifepod/node"
	"github.com/lifepod/lifepod/node/join"
)

// Member is a machine that has joined a cluster of another one.
type Member struct {
	Node    node.Options
	Network join.Network // zero: others do routes and service traffic there
}

// RunMember is a node of another machine's cluster until ctx ends, with its service
// traffic and the routes to the pods of the other nodes. Pods, traffic and routes
// stay then. ready is called when the node has begun.
func RunMember(ctx context.Context, c Member, ready func()) error {
	l, err := Config{Root: c.Node.Root, Version: c.Node.Version, Log: c.Node.Log}.joined()
	if err != nil {
		return err
	}
	if err := l.nameMember(&c.Node); err != nil {
		return err
	}
	if _, err := loadNodeConfig(c.Node.ConfigFile, decidedByJoin(c.Node.Bundled)); err != nil {
		return err
	}
	release, err := l.lock()
	if err != nil {
		return err
	}
	defer release()
	if err := l.rememberNode(); err != nil {
		return err
	}
	node.QuietKlog(l.Log)
	l.services = c.Network.Services
	g, known, o := newGroup(ctx, l.Log), make(chan struct{}), c.Node
	if o.RootDir, err = l.nodeFolder(); err != nil {
		return err
	}
	driver, err := l.localVolumes()
	if err != nil {
		return err
	}
	client := func() (kubernetes.Interface, error) { return memberClient(o.Kubeconfig) }
	o.LocalVolumes = localvolume.Member{Driver: driver, Known: known, Client: client, Log: l.Log}
	o.Joined = func() {
		c.Node.Joined()
		close(known)
	}
	if c.Network.Pods.IsValid() {
		n := memberNetwork{layout: l, pods: c.Network.Pods, client: client, known: known, traffic: l.newTraffic(ctx)}
		o.Traffic = n.traffic.ready
		if o.Bundled && o.CNI.ConfDir == "" {
			n.bridge, o.PodRange = l.paths.Bridge(), n.pods
		}
		g.restarted("network", n.run)
	}
	g.essential(nodePart, func(ctx context.Context) error { return node.Run(ctx, o, ready) })
	return g.wait()
}

// nameMember names the node. One that has no credentials yet is known to nobody, and may
// have another name.
func (l *layout) nameMember(o *node.Options) (err error) {
	l.Node = o.HostnameOverride
	if _, missing := os.Stat(o.Kubeconfig); errors.Is(missing, fs.ErrNotExist) {
		l.Node, err = nodeName(l.Node, "--hostname-override")
	} else {
		err = l.nameNode("--hostname-override", "to be another node, leave the cluster with lifepod down --purge and join it again")
	}
	o.HostnameOverride = l.Node
	return err
}

// joined is the layout of a machine that is a node of another one's cluster.
func (c Config) joined() (*layout, error) {
	l, err := c.layout()
	if err == nil {
		l.folder = rootfolder.Join
	}
	return l, err
}

// memberNetwork is service traffic and the routes of a member.
type memberNetwork struct {
	layout  *layout
	pods    netip.Prefix
	bridge  string // of the bundled pod network; empty: another one, which has its own routes
	client  func() (kubernetes.Interface, error)
	known   <-chan struct{}
	traffic *traffic
}

// run begins once the cluster knows the node.
func (n memberNetwork) run(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-n.known:
	}
	client, err := n.client()
	if err != nil {
		return err
	}
	l := n.layout
	own, err := client.CoreV1().Nodes().Get(ctx, l.Node, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("ask for the own node: %w", err)
	}
	shared := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTransform(trimNode))
	g := newGroup(ctx, l.Log)
	if n.bridge != "" {
		g.essential("routes", func(ctx context.Context) error {
			return routes.Run(ctx, routes.Config{Informers: shared, Node: own.Name, Pods: n.pods, Log: l.Log})
		})
	}
	g.essential("services", func(ctx context.Context) error {
		return proxy.Run(ctx, proxy.Config{
			Informers: shared, Node: own.Name, NodeIP: internalIPv4(own), Bridge: n.bridge, APIServer: l.serviceIP(apiService),
			Serves: n.traffic.serves, Ports: true, Table: proxy.Table(l.paths), Log: l.Log,
		})
	})
	return g.wait()
}

// memberClient has the node's credentials, which it renews in its kubeconfig.
func memberClient(kubeconfig string) (kubernetes.Interface, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("credentials of the node: %w", err)
	}
	config.ContentType = runtime.ContentTypeProtobuf
	return kubernetes.NewForConfig(config)
}

func internalIPv4(n *v1.Node) net.IP {
	for _, a := range n.Status.Addresses {
		if ip := net.ParseIP(a.Address).To4(); ip != nil && a.Type == v1.NodeInternalIP {
			return ip
		}
	}
	return nil
}

// trimNode is for informers of a machine with many Nodes around it: it needs to know
// where they are and whether they take traffic, and no more.
func trimNode(object any) (any, error) {
	n, ok := object.(*v1.Node)
	if !ok {
		return controllers.Trim(object)
	}
	kept := &v1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: n.Name, UID: n.UID, ResourceVersion: n.ResourceVersion, CreationTimestamp: n.CreationTimestamp, Labels: n.Labels,
		DeletionTimestamp: n.DeletionTimestamp,
	}}
	kept.Spec.Taints = n.Spec.Taints // of the cluster autoscaler
	kept.Spec.PodCIDR, kept.Spec.PodCIDRs, kept.Status.Addresses = n.Spec.PodCIDR, n.Spec.PodCIDRs, n.Status.Addresses
	return kept, nil
}
