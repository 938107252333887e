package node

import (
	"fmt"
	"os"

	"github.com/lifepod/lifepod/host"
	"github.com/lifepod/lifepod/node/config"
)

// settleProcess gives lifepod's own process its cgroup and its OOM score, before
// anything is started that inherits them (A-RES-3).
func settleProcess(c *config.Config) error {
	if group := c.Kubelet.KubeletCgroups; group != "" {
		if err := host.EnterCgroup(group); err != nil {
			return fmt.Errorf("kubeletCgroups %q: %w", group, err)
		}
	}
	if !c.Set("oomScoreAdj") {
		return nil // it is that of the service
	}
	score := fmt.Sprint(*c.Kubelet.OOMScoreAdj)
	if err := os.WriteFile("/proc/self/oom_score_adj", []byte(score), 0); err != nil {
		return fmt.Errorf("oomScoreAdj %s: %w", score, err)
	}
	return nil
}
