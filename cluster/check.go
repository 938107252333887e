package cluster

import (
	"fmt"
	"os"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/lifepod/lifepod/node/register"
)

// check says what is wrong with what is wanted, and completes the node's name, before
// anything is started.
func (c *Config) check() error {
	if err := c.checkParts(); err != nil {
		return err
	}
	if c.NodeGrace < 0 {
		return fmt.Errorf("--node-monitor-grace-period %v: want a time above 0", c.NodeGrace)
	}
	if c.Backup.Every < 0 {
		return fmt.Errorf("--backup-every %v: want a time above 0, such as 6h", c.Backup.Every)
	}
	if c.Backup.Every > 0 && c.Backup.Keep < 1 {
		return fmt.Errorf("--backup-keep %d: want at least 1", c.Backup.Keep)
	}
	if info, err := os.Stat(c.Manifests); c.Manifests != "" && (err != nil || !info.IsDir()) {
		return fmt.Errorf("--manifests %q: want a folder that is there", c.Manifests)
	}
	return c.nameNode()
}

// nameNode makes the node's name of --node-name or the machine's host name. One that
// the API server refuses would be a cluster without a node.
func (c *Config) nameNode() error {
	name, err := register.Hostname(c.Node)
	if err != nil {
		return fmt.Errorf("name of the node: %w", err)
	}
	if wrong := validation.IsDNS1123Subdomain(name); len(wrong) > 0 {
		return fmt.Errorf("name of the node %q: %s: give another with --node-name", name, strings.Join(wrong, ", "))
	}
	c.Node = name
	return nil
}
