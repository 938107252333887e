package cluster

import (
	"context"
	"encoding/json"
	"path/filepath"

	"github.com/lifepod/lifepod/bundle"
	"github.com/lifepod/lifepod/cluster/pki"
	"github.com/lifepod/lifepod/internal/wholefile"
	"github.com/lifepod/lifepod/node"
	"github.com/lifepod/lifepod/unattended"
)

// nodeConfig is the KubeletConfiguration of this machine's node. Its certificates are
// renewed by who has the authority, this process, and asked of nobody; the API server
// takes no other for the node's.
func (l *layout) nodeConfig(keys *pki.Folder) ([]byte, error) {
	fields := map[string]any{
		"apiVersion":     "kubelet.config.k8s.io/v1beta1",
		"kind":           "KubeletConfiguration",
		"port":           l.ports.Node,
		"healthzPort":    0, // lifepod status says more
		"clusterDNS":     []string{l.serviceIP(dnsService).String()},
		"clusterDomain":  dnsDomain,
		"authentication": map[string]any{"x509": map[string]any{"clientCAFile": keys.CA()}},

		"rotateCertificates": false,
		"tlsCertFile":        keys.NodeServing(),
		"tlsPrivateKeyFile":  keys.NodeServingKey(),
	}
	if l.Root != bundle.DefaultRoot { // the usual folder is another cluster's, or may be
		fields["podLogsDir"] = filepath.Join(l.Root, "logs")
	}
	return json.MarshalIndent(fields, "", "  ")
}

// nodeRoot is the folder of the node's pods.
func (l *layout) nodeRoot() string { return filepath.Join(l.Root, "node") }

// runNode is this machine's node until ctx ends; its pods run on.
func (l *layout) runNode(ctx context.Context, keys *pki.Folder, ready func()) error {
	configuration, err := l.nodeConfig(keys)
	if err != nil {
		return err
	}
	file := l.file("kubelet.json")
	if err := wholefile.Write(file, configuration); err != nil {
		return err
	}
	return node.Run(ctx, node.Options{
		Kubeconfig:       l.file("node.kubeconfig"),
		ConfigFile:       file,
		HostnameOverride: l.Node,
		NodeIP:           l.advertise.String(),
		Root:             l.Root,
		RootDir:          l.nodeRoot(),
		Bundled:          true,
		PodRange:         l.podRange(),
		CNI:              l.CNI,
		Embedded:         true,
		Command:          unattended.Up,
		Version:          l.Version,
		Log:              l.Log,
	}, ready)
}
