package cluster

import (
	"context"
	"encoding/json"

	"github.com/lifepod/lifepod/bundle"
	"github.com/lifepod/lifepod/cluster/pki"
	"github.com/lifepod/lifepod/cluster/token"
	"github.com/lifepod/lifepod/internal/rootfolder"
	"github.com/lifepod/lifepod/internal/wholefile"
	"github.com/lifepod/lifepod/node"
	"github.com/lifepod/lifepod/node/localdriver"
	"github.com/lifepod/lifepod/unattended"
)

// nodeConfig is the KubeletConfiguration of this machine's node, as far as the user's
// says nothing else. Its certificates are
// renewed by who has the authority, this process, and asked of nobody; the API server
// takes no other for the node's.
func (l *layout) nodeConfig(keys *pki.Folder) ([]byte, error) {
	fields := map[string]any{
		"apiVersion":     "kubelet.config.k8s.io/v1beta1",
		"kind":           "KubeletConfiguration",
		"healthzPort":    0, // lifepod status says more
		"clusterDNS":     []string{l.serviceIP(dnsService).String()},
		"clusterDomain":  dnsDomain,
		"authentication": map[string]any{"x509": map[string]any{"clientCAFile": keys.CA()}},
		"seccompDefault": true, // as in the configuration of joining nodes
		// The disk is not the node's alone: a part of it that others leave free says little,
		// and the kubelet's 10 % are met on many a laptop before the first pod.
		"evictionHard": map[string]string{
			"memory.available": "100Mi", "nodefs.available": "2%", "nodefs.inodesFree": "1%", "imagefs.available": "2%", "imagefs.inodesFree": "1%",
		},

		"podPidsLimit": token.PodPidsLimit,

		"rotateCertificates": false,
		"tlsCertFile":        keys.NodeServing(),
		"tlsPrivateKeyFile":  keys.NodeServingKey(),
	}
	if gates := l.nodeGates(); len(gates) > 0 {
		fields["featureGates"] = gates
	}
	l.addShutdownPeriods(fields)
	if l.Root != bundle.DefaultRoot { // the usual folder is another cluster's, or may be
		fields["podLogsDir"] = rootfolder.Logs.In(l.Root)
	}
	return json.MarshalIndent(fields, "", "  ")
}

// addShutdownPeriods gives pods time to end when the machine shuts down, as much as is common
// for a kubelet, unless the user's configuration or feature gates say something of that.
func (l *layout) addShutdownPeriods(fields map[string]any) {
	users, err := loadNodeConfig(l.NodeConfig, nil)
	if err != nil { // the node says so
		return
	}
	for _, field := range []string{"shutdownGracePeriod", "shutdownGracePeriodCriticalPods", "shutdownGracePeriodByPodPriority"} {
		if users != nil && users.Set(field) {
			return
		}
	}
	if on, set := l.FeatureGates["GracefulNodeShutdown"]; set && !on {
		return
	}
	fields["shutdownGracePeriod"], fields["shutdownGracePeriodCriticalPods"] = "30s", "10s"
}

// nodeRoot is the folder of the node's pods.
func (l *layout) nodeRoot() string { return rootfolder.Node.In(l.Root) }

// localVolumes is the CSI driver of volumes on this machine's disk.
func (l *layout) localVolumes() (*localdriver.Driver, error) {
	return localdriver.New(localdriver.Config{Dir: rootfolder.VolumeImages.In(l.Root), Node: l.Node, Version: l.Version, Log: l.Log})
}

// runNode is this machine's node until ctx ends; its pods run on. registered is called
// when the API server has its Node.
func (r *run) runNode(ctx context.Context, ready, registered func()) error {
	configuration, err := r.nodeConfig(r.keys)
	if err != nil {
		return err
	}
	folder, err := r.nodeFolder()
	if err != nil {
		return err
	}
	file := r.file("kubelet.json")
	if err := wholefile.Write(file, configuration); err != nil {
		return err
	}
	if err := r.awaitRuntime(ctx); err != nil {
		return err
	}
	o := node.Options{
		Kubeconfig:       r.file("node.kubeconfig"),
		ConfigBelow:      file,
		ConfigFile:       r.NodeConfig,
		Port:             int32(r.ports.Node),
		HostnameOverride: r.Node,
		NodeIP:           r.advertise.String(),
		Root:             r.Root,
		RootDir:          folder,
		Bundled:          true,
		PodRange:         r.podRange(),
		CNI:              r.CNI,
		OCIRuntime:       r.OCIRuntime,
		Embedded:         true,
		Command:          unattended.Up,
		Service:          r.Service,
		Joined:           registered,
		Version:          r.Version,
		Log:              r.Log,
	}
	if r.runs("services") {
		o.Traffic = r.traffic.ready
	}
	if r.runs("volumes") {
		if o.LocalVolumes, err = r.localVolumes(); err != nil {
			return err
		}
	}
	return node.Run(ctx, o, ready)
}
