package cluster

import (
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"path/filepath"
	"time"

	"github.com/lifepod/lifepod/bundle"
	"github.com/lifepod/lifepod/cluster/backup"
	"github.com/lifepod/lifepod/cluster/simulated"
	"github.com/lifepod/lifepod/cluster/state"
	"github.com/lifepod/lifepod/internal/notify"
	"github.com/lifepod/lifepod/internal/rootfolder"
)

// Config says what cluster this is. Zero values mean the defaults.
type Config struct {
	Root    string   // state folder of lifepod
	Listen  string   // ADDRESS:PORT of the API server; empty: see chooseListen
	Node    string   // name of this machine's node; empty: its host name
	Disable []string // parts that are not to run: see Parts

	NodeConfig string // file of its KubeletConfiguration; may be empty
	NodePort   int    // of the node's API; 0: see chooseListen

	// FeatureGates are for all parts alike; those that are not there are as in Kubernetes,
	// or as the node is made for.
	FeatureGates map[string]bool
	// RuntimeConfig turns APIs on and off, as kube-apiserver's flag.
	RuntimeConfig map[string]string
	// DisableAdmission are admission plugins that don't run, as kube-apiserver's flag.
	DisableAdmission []string

	// Manifests is a folder whose add-ons are applied beside those of
	// DATA/manifests; none if empty.
	Manifests string
	// Backup says when backups are made of it; none if Every is 0.
	Backup backup.Schedule

	// Simulated are nodes beside this machine's.
	Simulated simulated.Nodes

	// Context is the name under which the cluster is put into the user's kubeconfig;
	// it is not if empty.
	Context string

	// NodeGrace is how long a node may be silent before it is not ready; 0 is 50 s.
	NodeGrace time.Duration

	// Etcd has the cluster's state, instead of an etcd in this process.
	Etcd state.Place
	// Server says that this is one of several servers of the cluster in Etcd. Keys is
	// then a copy of another one's folder of keys; empty: it is there already.
	Server bool
	Keys   string
	// Lease is how long the leader of several servers may be silent; 0 is 15 s.
	Lease time.Duration

	CNI        bundle.CNI // a pod network instead of the bundled one
	OCIRuntime bundle.OCIRuntime

	Service notify.Service // where systemd hears that the node is alive

	Version string
	Log     *slog.Logger
}

const dnsDomain = "cluster.local"

// Name is the cluster's in kubeconfig files.
const Name = "lifepod"

type layout struct {
	Config
	paths     bundle.Paths
	folder    rootfolder.Entry // below Root, of what is the cluster's
	address   net.IP           // the API server listens here
	ports     ports
	kept      []net.Listener // what keeps the ports, for as long as the process
	services  netip.Prefix   // of services' addresses
	pods      netip.Prefix   // of pods' addresses, on all nodes
	advertise net.IP
	renamed   string // the machine's name, if it was another one when its node was named
	identity  string // of this server, if the state is on another's etcd
}

func (c Config) layout() (*layout, error) {
	paths, err := bundle.Locate(c.Root, "")
	if err != nil {
		return nil, err
	}
	c.Root = paths.Root
	return &layout{Config: c, paths: paths, folder: rootfolder.Cluster}, nil
}

func (l *layout) file(name string) string { return filepath.Join(l.folder.In(l.Root), name) }

// Kubeconfig is the administrator's kubeconfig file of the cluster of a root.
func Kubeconfig(root string) (string, error) {
	l, err := Config{Root: root}.layout()
	if err != nil {
		return "", err
	}
	return l.file("kubeconfig"), nil
}

// volumes is the folder of local volumes.
func (l *layout) volumes() string { return rootfolder.Volumes.In(l.Root) }

// Places are the data folder of the cluster of a root, and its run folder.
func Places(root string) (data, runDir string, err error) {
	l, err := Config{Root: root}.layout()
	if err != nil {
		return "", "", err
	}
	return l.file(""), l.paths.RunDir, nil
}

// OwnState is Places of a cluster whose state is in its data folder.
func OwnState(root string) (data, runDir string, err error) {
	l, err := Config{Root: root}.layout()
	if err != nil {
		return "", "", err
	}
	o, err := l.outerBefore()
	if err == nil && len(o.Endpoints) > 0 {
		err = fmt.Errorf("the state of this cluster is on the etcd at %s: back it up with its own tools (etcdctl snapshot save); the keys are in %s", o, l.file("pki"))
	}
	return l.file(""), l.paths.RunDir, err
}

// LogFile is where a cluster in the background logs to.
func LogFile(root string) (string, error) {
	l, err := Config{Root: root}.layout()
	if err != nil {
		return "", err
	}
	return l.file("log"), nil
}
