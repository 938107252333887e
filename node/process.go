package node

import (
	"fmt"
	"os"
	"strconv"

	"github.com/opencontainers/cgroups"
	"github.com/opencontainers/cgroups/manager"

	"github.com/lifepod/lifepod/node/config"
)

// settleProcess gives lifepod's own process its cgroup and its OOM score, before
// anything is started that inherits them (A-RES-3).
func settleProcess(c *config.Config) error {
	if group := c.Kubelet.KubeletCgroups; group != "" {
		if err := enterCgroup(group); err != nil {
			return fmt.Errorf("kubeletCgroups %q: %w", group, err)
		}
	}
	if !c.Set("oomScoreAdj") {
		return nil // it is that of the service
	}
	score := strconv.Itoa(int(*c.Kubelet.OOMScoreAdj))
	if err := os.WriteFile("/proc/self/oom_score_adj", []byte(score), 0); err != nil {
		return fmt.Errorf("oomScoreAdj %s: %w", score, err)
	}
	return nil
}

// enterCgroup moves this process; the cgroup is made if there is none.
func enterCgroup(path string) error {
	m, err := manager.New(&cgroups.Cgroup{Path: path, Resources: &cgroups.Resources{SkipDevices: true}})
	if err != nil {
		return err
	}
	return m.Apply(os.Getpid())
}
