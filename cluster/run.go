package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/kubernetes"
	"k8s.io/component-base/version"

	"github.com/lifepod/lifepod/cluster/apiserver"
	"github.com/lifepod/lifepod/cluster/kubeconfig"
	"github.com/lifepod/lifepod/cluster/pki"
	"github.com/lifepod/lifepod/internal/garbage"
	"github.com/lifepod/lifepod/internal/rootfolder"
	"github.com/lifepod/lifepod/node"
)

// Ready is what people need to know of a cluster that runs.
type Ready struct {
	Kubeconfig string        `json:"kubeconfig"`     // file of the administrator
	Server     string        `json:"server"`         // URL
	Node       string        `json:"node,omitempty"` // empty: this machine's does not run
	Took       time.Duration `json:"took"`           // from the start
}

// Run is a cluster until ctx ends. The pods of its node run on then, and the next
// Run goes on with them. ready is called once, when users' objects are taken and the
// node is registered.
func Run(ctx context.Context, c Config, ready func(Ready)) error {
	began := time.Now()
	l, err := c.layout()
	if err != nil {
		return err
	}
	if os.Geteuid() != 0 {
		return errors.New("only root may run a cluster: run it with sudo")
	}
	if err := l.check(); err != nil {
		return err
	}
	if err := l.nameNode("--node-name", l.newNode()); err != nil {
		return err
	}
	if err := rootfolder.Ensure(l.file(""), 0o700); err != nil {
		return fmt.Errorf("folder of the cluster: %w", err)
	}
	release, err := l.lock()
	if err != nil {
		return err
	}
	defer release()
	defer l.releasePorts()
	if err := l.checkVersion(version.DefaultKubeBinaryVersion); err != nil {
		return err
	}
	if err := l.chooseListen(ctx); err != nil {
		return err
	}
	if err := l.chooseState(ctx); err != nil {
		return err
	}
	if err := l.chooseServices(); err != nil {
		return err
	}
	if err := l.choosePods(); err != nil {
		return err
	}
	if err := errors.Join(l.rememberNode(), l.rememberVersion(version.DefaultKubeBinaryVersion)); err != nil { // of nothing that is refused
		return err
	}
	garbage.Allow(garbage.Seldom)
	quiet(c.Log)
	if err := l.setGates(utilfeature.DefaultMutableFeatureGate); err != nil {
		return err
	}
	return (&run{layout: l, began: began, ready: ready, led: make(chan struct{})}).run(ctx)
}

// quiet sends what Kubernetes' libraries log to where ours goes, and lets a panic of
// one of their loops end only that loop's turn.
func quiet(log *slog.Logger) {
	node.QuietKlog(log)
	utilruntime.ReallyCrash = false
	utilruntime.PanicHandlers = append(utilruntime.PanicHandlers, func(_ context.Context, reason any) {
		log.Error("a part of the control plane panicked, and goes on", "reason", reason, "stack", string(debug.Stack()))
	})
}

// run is a cluster that begins, or runs.
type run struct {
	*layout
	began       time.Time
	ready       func(Ready)
	readyCalled atomic.Bool // ready has been called

	keys    *pki.Folder
	server  *apiserver.Server
	client  kubernetes.Interface
	traffic *traffic
	led     chan struct{} // closed when what only a leader does has ended

	runtimeTried chan struct{} // closed when the container runtime runs, or can't
}

func (r *run) run(ctx context.Context) error {
	g := newGroup(ctx, r.Log)
	surviveFatal(g.ctx, r.Log)
	closeRuntime := r.openRuntime(g.ctx)
	defer closeRuntime()
	r.traffic = r.newTraffic(g.ctx)
	keys := sync.OnceValue(func() (err error) {
		r.keys, err = r.openKeys()
		return err
	})
	go func() { _ = keys() }() // beside etcd, which needs none of this machine's; an error is reported below
	store, err := r.openState(g, keys)
	if err != nil {
		return err
	}
	defer store.close()
	if err := keys(); err != nil {
		return err
	}
	r.step("keys there")
	serverMade := r.beginServer(g.ctx, store.place)
	if err := store.ready(); err != nil {
		return err
	}
	r.step("etcd ready")
	if err := serverMade(); err != nil {
		return err
	}
	r.step("API server made")
	if r.client, err = kubernetes.NewForConfig(r.server.InProcess()); err != nil {
		return err
	}
	g.essential("API server", r.serve)
	g.restarted("address", r.watchAddress)
	g.restarted("certificates", func(ctx context.Context) error { return r.keys.Run(ctx, r.Log) })
	// Nothing that this process does needs the roles and priority classes of every cluster.
	if err := awaitAPI(g.ctx, r.client, apiserver.DefaultsChecks()...); err != nil {
		return errors.Join(err, g.end())
	}
	r.step("API server serves")
	r.runParts(g)
	if err := g.wait(); err != nil {
		return err
	}
	if !r.readyCalled.Load() {
		return context.Cause(ctx)
	}
	return nil
}

// step logs how far the start has come.
func (r *run) step(what string) {
	r.Log.Info(what, "after", time.Since(r.began).Round(time.Millisecond))
}

// url is where people on this machine find the API server.
func (l *layout) url() string {
	host := l.address.String()
	if l.address.IsUnspecified() {
		host = "127.0.0.1"
	}
	return apiserver.URL(host, l.ports.API)
}

func (l *layout) openKeys() (*pki.Folder, error) {
	keys, err := pki.Open(pki.Config{
		Dir: l.file("pki"), Names: []string{l.Node}, Node: l.Node, NodeAddresses: []net.IP{l.advertise},
		Addresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback, l.serviceIP(apiService), l.advertise},
		Renewed:   l.renewed,
	})
	if err != nil {
		return nil, err
	}
	if err := keys.AdminKubeconfig(l.file("kubeconfig"), Name, l.url()); err != nil {
		return nil, err
	}
	if err := l.writeKubeconfig(); err != nil {
		return nil, err
	}
	return keys, keys.NodeKubeconfig(l.file("node.kubeconfig"), Name, l.url(), l.Node)
}

// writeKubeconfig puts the cluster into the user's kubeconfig, if that is wanted. It
// comes before anything runs: a name that is taken is better reported then.
func (l *layout) writeKubeconfig() error {
	if l.Context == "" {
		return nil
	}
	into, err := kubeconfig.UserFile()
	if err != nil {
		return fmt.Errorf("find the user's kubeconfig: %w", err)
	}
	return kubeconfig.Merge(kubeconfig.Config{Admin: l.file("kubeconfig"), Into: into, Context: l.Context})
}

// renewed tells users' files of another address or certificate. One that can't be
// changed is no reason not to run.
func (l *layout) renewed() {
	if err := kubeconfig.Renew(l.file("kubeconfig")); err != nil {
		l.Log.Warn("a kubeconfig with this cluster is not up to date", "err", err)
	}
}
