package node

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/node/join"
	"github.com/lifepod/lifepod/node/server"
)

// newServer prepares the node's API on its port, which a node without a cluster
// does not have: nobody could be let in.
func (m *member) newServer() error {
	c, k := m.cluster, m.config.Kubelet
	if !*k.EnableServer {
		return nil
	}
	var err error
	c.serving, err = join.NewServing(join.ServingOptions{
		Kubelet: k, CertDir: m.certDir(), NodeName: m.name, Client: c.client, Log: m.Log,
	})
	if err != nil {
		return fmt.Errorf("certificate of the node's API: %w", err)
	}
	c.server, err = server.New(server.Config{
		NodeName: m.name, Kubelet: k, Client: c.client, TLS: c.serving.TLS(), Node: view{m.pods, m.healthy},
		Runtime: m.runtime.Client.Runtime, Figures: m.figures(), Flags: m.Flags, Version: m.Version, Log: m.Log,
	})
	if err != nil {
		return err
	}
	return c.server.Listen() // a port that is taken is an error before anything has begun
}

// addressed has the serving certificate follow the node's addresses.
func (c *cluster) addressed(addresses []v1.NodeAddress) {
	if c.serving != nil {
		c.serving.SetAddresses(addresses)
	}
}

// runServer serves until ctx ends.
func (m *member) runServer(ctx context.Context) error {
	c := m.cluster
	if c.server == nil {
		return nil
	}
	addresses, err := m.node.Addresses(ctx)
	if err != nil {
		return err
	}
	c.addressed(addresses)
	m.beside.Go(func() { c.onceJoined(ctx, c.serving.Run) })
	m.beside.Go(func() {
		if err := c.server.Serve(ctx); err != nil && ctx.Err() == nil {
			m.fail(err)
		}
	})
	return nil
}
