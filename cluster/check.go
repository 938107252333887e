package cluster

import (
	"errors"
	"fmt"
	"os"

	"github.com/lifepod/lifepod/cluster/apiserver"
	"github.com/lifepod/lifepod/cluster/simulated"
)

// check says what is wrong with what is wanted, before anything is started.
func (c Config) check() error {
	if err := c.checkParts(); err != nil {
		return err
	}
	if err := c.checkGates(); err != nil {
		return err
	}
	if err := apiserver.CheckRuntimeConfig(c.RuntimeConfig); err != nil {
		return err
	}
	if c.NodePort < 0 || c.NodePort > 65535 {
		return fmt.Errorf("--port %d: want a port, such as %d", c.NodePort, nodePort)
	}
	if _, err := loadNodeConfig(c.NodeConfig, decidedByUp); err != nil {
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
	return c.checkSimulated()
}

func (c Config) checkSimulated() error {
	switch n := c.Simulated.Count; {
	case n > 0 && c.Etcd.Given():
		return errors.New("--simulated-nodes: the cluster may have several servers, and each would be the same nodes: want lifepod sim nodes")
	case n > 0 && !c.runs(simulated.Part):
		return fmt.Errorf("--simulated-nodes %d: --disable %s says otherwise", n, simulated.Part)
	}
	return c.Simulated.Check()
}
