package record

import (
	"fmt"
	"path"
	"strings"

	"github.com/opencontainers/cgroups"
	"github.com/opencontainers/cgroups/manager"

	"github.com/lifepod/lifepod/bundle/runtime/sandbox/holder"
)

// Cgroup is the cgroup of a sandbox's process.
type Cgroup struct{ manager cgroups.Manager }

// NewCgroup is the one that a plan asks for, as runc makes it.
func NewCgroup(p holder.Plan, systemd bool) (Cgroup, error) {
	// The process opens no device: that needs no rules.
	config := &cgroups.Cgroup{Systemd: systemd, Resources: &cgroups.Resources{SkipDevices: true}}
	if systemd {
		parts := strings.Split(p.CgroupPath, ":")
		if len(parts) != 3 {
			return Cgroup{}, fmt.Errorf("cgroup %q of a sandbox: want slice:prefix:name for systemd", p.CgroupPath)
		}
		config.Parent, config.ScopePrefix, config.Name = parts[0], parts[1], parts[2]
	} else {
		config.Path = path.Clean("/" + p.CgroupPath)
	}
	if p.CPUShares > 0 {
		config.Resources.CpuShares = p.CPUShares
		config.Resources.CpuWeight = cgroups.ConvertCPUSharesToCgroupV2Value(p.CPUShares)
	}
	made, err := manager.New(config)
	return Cgroup{made}, err
}

// Enter makes the cgroup, with its limits, and puts a process into it.
func (c Cgroup) Enter(pid int) error {
	if err := c.manager.Apply(pid); err != nil {
		return fmt.Errorf("enter the cgroup: %w", err)
	}
	config, err := c.manager.GetCgroups()
	if err != nil {
		return err
	}
	return c.manager.Set(config.Resources)
}

// Remove removes the cgroup, which no process may be in any more.
func (c Cgroup) Remove() error {
	if err := c.manager.Destroy(); err != nil {
		return fmt.Errorf("remove the cgroup of a sandbox: %w", err)
	}
	return nil
}
