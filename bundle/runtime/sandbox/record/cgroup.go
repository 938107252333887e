package record

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"github.com/opencontainers/cgroups"
	"github.com/opencontainers/cgroups/fscommon"
	"github.com/opencontainers/cgroups/manager"
	"golang.org/x/sys/unix"

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

// Explain adds to the error of a process that entered the cgroup, or was to, what memory has to do with it:
// mostly the pod's limit, which holds for the sandbox, too.
func (c Cgroup) Explain(err error) error {
	killed, _ := c.manager.OOMKillCount() // fails if the cgroup could not be made
	if killed > 0 {
		err = fmt.Errorf("%w: OOM-killed", err)
	} else if !errors.Is(err, unix.ENOMEM) {
		return err
	}
	limit, found := memoryLimit(c.manager.Path("memory"))
	if !found {
		return err
	}
	return fmt.Errorf("%w (memory limit too low? It is %d bytes, in whole pages)", err, limit)
}

// memoryLimit is the lowest limit of a cgroup and those above it. Which of them there are, and whether they
// have one, differs: what can't be read has none.
func memoryLimit(folder string) (limit uint64, found bool) {
	for ; filepath.Dir(folder) != folder; folder = filepath.Dir(folder) {
		for _, name := range []string{"memory.max", "memory.limit_in_bytes"} {
			got, err := fscommon.GetCgroupParamUint(folder, name)
			if err == nil && got < unlimited && (!found || got < limit) {
				limit, found = got, true
			}
		}
	}
	return limit, found
}

// unlimited are as many bytes as no machine has. The kernel says it in other words for each version.
const unlimited = 1 << 60

// Remove removes the cgroup, which no process may be in any more.
func (c Cgroup) Remove() error {
	if err := c.manager.Destroy(); err != nil {
		return fmt.Errorf("remove the cgroup of a sandbox: %w", err)
	}
	return nil
}
