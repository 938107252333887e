package node

import (
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"os"

	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/bundle"
	"github.com/lifepod/lifepod/internal/notify"
	"github.com/lifepod/lifepod/internal/rootfolder"
	"github.com/lifepod/lifepod/node/config"
	"github.com/lifepod/lifepod/pods"
)

// Options are the flags of lifepod agent. Those that the kubelet has, too, have its names.
type Options struct {
	Kubeconfig          string // empty: no cluster
	BootstrapKubeconfig string
	ConfigFile          string // KubeletConfiguration
	ConfigBelow         string // another one, for what ConfigFile doesn't say
	ConfigDir           string // drop-ins
	HostnameOverride    string
	NodeIP              string
	NodeLabels          string
	RegisterWithTaints  string
	CertDir             string
	Manifests           string // instead of staticPodPath; may be empty
	RootDir             string // folders of pods; empty: see rootDir
	Port                int32  // of the node's API; 0: the configuration's

	CredentialProviderConfig string // --image-credential-provider-config
	CredentialProviderBinDir string

	Root            string     // state folder of lifepod, with the bundled runtime
	RuntimeEndpoint string     // another CRI runtime than the bundled one
	CNI             bundle.CNI // a pod network instead of the bundled one
	OCIRuntime      bundle.OCIRuntime
	Bundled         bool // the bundled runtime, whatever else this machine has
	// Embedded says that the node is part of a process which is more: it leaves the
	// process's memory and the logs of libraries alone.
	Embedded bool

	// PodRange is what the cluster gives its nodes their podCIDRs of. With one, pods of
	// the bundled runtime wait for the Node's, and have addresses of it. Invalid: they
	// have those that the runtime chooses.
	PodRange netip.Prefix

	// Traffic is closed when pods of this node reach the API server by its Service; pods
	// of the API get no sandbox before. Nil: that is not known here.
	Traffic <-chan struct{}

	// Command is the one that the node is part of, by which its pods are known while it
	// does not run; empty for lifepod agent.
	Command string

	// LocalVolumes is a CSI driver that runs as a part of the node; nil: there is none.
	LocalVolumes LocalVolumes

	// Foreign says that a pod of the same runtime is another lifepod's; nil: none is.
	Foreign func(uid types.UID) bool

	// Joined is called when the cluster knows the Node for the first time; may be nil.
	Joined func()

	// Service is where systemd hears that the node is alive, if it wants to (WatchdogSec=).
	Service notify.Service

	// Logs makes the log that a configuration asks for, which takes the place of Log;
	// nil: the configuration has no say in it.
	Logs func(format string, verbosity uint32) *slog.Logger

	Version string            // of lifepod
	Flags   map[string]string // as they were given, for /flagz
	Log     *slog.Logger
}

// LocalVolumes is a CSI driver for volumes on the disk of this node.
type LocalVolumes interface {
	// Serve serves the driver and its registration at a socket until ctx ends.
	Serve(ctx context.Context, socket string) error
	// Controller serves the calls that the cluster makes, which come by the node's API.
	Controller() http.Handler
}

// kubeletRoot is where a kubelet keeps its pods, so that lifepod finds them in its
// place.
const kubeletRoot = "/var/lib/kubelet"

// rootDir is the folder below which pods have theirs: the kubelet's on a node of a
// cluster, lifepod's own without one.
func (o Options) rootDir() string {
	switch {
	case o.RootDir != "":
		return o.RootDir
	case o.inCluster():
		return kubeletRoot
	}
	return o.Root
}

// memory is where what is needed to go on is left.
func (o Options) memory() pods.MemoryFolder {
	return pods.MemoryFolder{Dir: rootfolder.AgentMemory.In(o.rootDir())}
}

func (o Options) inCluster() bool { return o.Kubeconfig != "" || o.BootstrapKubeconfig != "" }

// kubeletRuntime is the runtime that a kubelet uses unless it is told otherwise.
const kubeletRuntime = "/run/containerd/containerd.sock"

// load reads the configuration; flags come before what it says.
func (o Options) load() (*config.Config, error) {
	c, err := config.LoadOver(o.ConfigBelow, o.ConfigFile, o.ConfigDir)
	if err != nil {
		return nil, err
	}
	if o.Manifests != "" {
		c.Kubelet.StaticPodPath = o.Manifests
	}
	if o.Port != 0 {
		c.Kubelet.Port = o.Port
	}
	return c, nil
}

// runtimeEndpoint is the flag's, else the configuration's, else on a node of a
// cluster the kubelet's if it is there. Empty is the bundled runtime.
func (o Options) runtimeEndpoint(c *config.Config) string {
	switch {
	case o.Bundled:
		return ""
	case o.RuntimeEndpoint != "":
		return o.RuntimeEndpoint
	case c.Set("containerRuntimeEndpoint"):
		return c.Kubelet.ContainerRuntimeEndpoint
	}
	if _, err := os.Stat(kubeletRuntime); err == nil && o.inCluster() {
		return "unix://" + kubeletRuntime
	}
	return ""
}
