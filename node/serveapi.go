package node

import (
	"fmt"
	"net/http"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/lifepod/lifepod/internal/rootfolder"
	"github.com/lifepod/lifepod/node/join"
	"github.com/lifepod/lifepod/node/server"
	"github.com/lifepod/lifepod/node/stats"
)

// newServing is the certificate of the node's API; nil if that is not served.
func (s *setup) newServing(client kubernetes.Interface) (*join.Serving, error) {
	k := s.config.Kubelet
	if !*k.EnableServer {
		return nil, nil
	}
	serving, err := join.NewServing(join.ServingOptions{
		Kubelet: k, CertDir: s.options.certDir(), NodeName: s.name, Client: client, Log: s.log,
	})
	if err != nil {
		return nil, fmt.Errorf("certificate of the node's API: %w", err)
	}
	return serving, nil
}

// addressed has the serving certificate follow the node's addresses.
func (c *cluster) addressed(addresses []v1.NodeAddress) {
	if c != nil && c.serving != nil {
		c.serving.SetAddresses(addresses)
	}
}

// newServer is the node's API on its port, which a node without a cluster does not
// have: nobody could be let in.
func (s *setup) newServer(c *cluster, view view, changes *server.Changes, all *stats.Stats) (*server.Server, error) {
	if c == nil || c.serving == nil {
		return nil, nil
	}
	var controller http.Handler
	if s.options.LocalVolumes != nil {
		controller = s.options.LocalVolumes.Controller()
	}
	return server.New(server.Config{
		Access: server.Access{NodeName: s.name}, Kubelet: s.config.Kubelet, Client: c.client, TLS: c.serving.TLS(), Node: view, Changes: changes,
		Runtime: s.calls.Runtime, Figures: s.figures(c, view, all), Controller: controller,
		Folders: server.Folders{Checkpoints: rootfolder.Checkpoints.In(s.options.rootDir()), Journal: rootfolder.Journal.In(s.options.rootDir())},
		About:   server.About{Flags: s.options.Flags, Version: s.options.Version}, Log: s.log,
	})
}
