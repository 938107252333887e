package node

import (
	"context"
	"time"

	"github.com/lifepod/lifepod/node/register"
)

// tellSkew warns once of an API server that Kubernetes does not support for this node.
// It works nonetheless: what the API server does not know, it refuses or leaves out.
func (c *cluster) tellSkew(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	server, err := c.client.Discovery().ServerVersionWithContext(ctx)
	if err != nil {
		c.log.Debug("the API server does not tell its version", "err", err)
		return
	}
	if err := register.Skew(server.GitVersion); err != nil {
		c.log.Warn(err.Error(), "apiServer", server.GitVersion, "node", register.Version)
	}
}
