package node

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/version"

	"github.com/lifepod/lifepod/node/register"
)

// mostOlder is how many minor versions a node may be older than its API server, by
// Kubernetes' version skew policy. It may never be newer.
const mostOlder = 3

// tellSkew warns once of an API server that Kubernetes does not support for this node.
// It works nonetheless: what the API server does not know, it refuses or leaves out.
func (c *cluster) tellSkew(ctx context.Context) {
	server, err := c.serverVersion(ctx)
	if err != nil {
		c.log.Debug("the API server does not tell its version", "err", err)
		return
	}
	if skew := unsupportedSkew(server, register.Version); skew != "" {
		c.log.Warn(skew, "apiServer", server, "node", register.Version)
	}
}

func (c *cluster) serverVersion(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	text, err := c.client.CoreV1().RESTClient().Get().AbsPath("/version").DoRaw(ctx)
	if err != nil {
		return "", err
	}
	var info struct {
		GitVersion string `json:"gitVersion"`
	}
	if err := json.Unmarshal(text, &info); err != nil {
		return "", err
	}
	return info.GitVersion, nil
}

// unsupportedSkew is what is wrong with the versions; empty if nothing is, or one makes
// no sense.
func unsupportedSkew(server, node string) string {
	serverVersion, err := version.ParseGeneric(server)
	if err != nil {
		return ""
	}
	nodeVersion, err := version.ParseGeneric(node)
	if err != nil || serverVersion.Major() != nodeVersion.Major() {
		return ""
	}
	switch older := int(serverVersion.Minor()) - int(nodeVersion.Minor()); {
	case older < 0:
		return "the API server is older than this node, which Kubernetes does not support: what it does not know yet, it refuses or leaves out"
	case older > mostOlder:
		return fmt.Sprintf("the API server is %d minor versions newer than this node, and Kubernetes supports %d", older, mostOlder)
	}
	return ""
}
