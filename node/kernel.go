package node

import (
	"fmt"
	"os"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/lifepod/lifepod/host"
	"github.com/lifepod/lifepod/node/config"
)

// checkKernel refuses a machine that the configuration doesn't want (A-RES-1, A-RES-2).
// What the kubelet wants by default does not count as wanted: lifepod runs pods on
// cgroup v1, and on a machine with swap.
func checkKernel(c *config.Config, kernel host.Kernel) error {
	k := c.Kubelet
	refuse := func(name string, value bool, why string) error {
		return c.Wrong(field.Invalid(field.NewPath(name), value, why))
	}
	if c.Set("failCgroupV1") && *k.FailCgroupV1 && kernel.CgroupV1 {
		return refuse("failCgroupV1", true, "this machine has cgroup v1: should be false, or the machine booted with cgroup v2")
	}
	if kernel.CgroupV1 && k.SingleProcessOOMKill != nil && !*k.SingleProcessOOMKill {
		return refuse("singleProcessOOMKill", false, "cgroup v1 kills single processes: should be true, or left out")
	}
	if c.Set("failSwapOn") && *k.FailSwapOn {
		swap, err := kernel.SwapOn()
		if err != nil {
			return err
		}
		if swap {
			return refuse("failSwapOn", true, "this machine has swap in use: should be false, or swap switched off")
		}
	}
	if !k.ProtectKernelDefaults {
		return nil
	}
	unexpected, err := kernel.Unexpected()
	if err != nil {
		return err
	}
	if len(unexpected) > 0 {
		return refuse("protectKernelDefaults", true, strings.Join(unexpected, "; "))
	}
	return nil
}

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
