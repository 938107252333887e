package podcgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/opencontainers/cgroups"
	v1 "k8s.io/api/core/v1"
)

// setLevelShares weighs the level of a class against Guaranteed pods, as
// Kubernetes does: besteffort as a whole has the least there is, however many
// pods it has, and burstable what its pods ask for together. The sum is read
// from the kernel, so that several lifepods agree; a pod that goes lowers it when
// the next one comes.
func (d Driver) setLevelShares(class v1.PodQOSClass) error {
	if class == v1.PodQOSGuaranteed {
		return nil
	}
	level := append(d.parents(), strings.ToLower(string(class)))
	m, err := d.manager(level, Resources{CPUShares: MinCPUShares})
	if err != nil {
		return err
	}
	dir, file, lowest, highest := m.Path("cpu"), "cpu.shares", MinCPUShares, maxCPUShares
	if cgroups.IsCgroup2UnifiedMode() {
		dir, file, lowest, highest = m.Path(""), "cpu.weight", 1, maxCPUWeight
	}
	if dir == "" {
		return nil
	}
	sum := 0
	if class == v1.PodQOSBurstable {
		sum = sumOfPods(dir, file)
	}
	value := min(max(sum, lowest), highest)
	if d.Systemd {
		err = m.Set(levelResources(uint64(value))) // systemd would write its own value over one in the file
	} else {
		err = cgroups.WriteFile(dir, file, strconv.Itoa(value))
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("set %s of cgroup %s: %w", file, d.path(level), err)
	}
	return nil
}

// levelResources are those of a level of the given weight, which is one of shares on
// cgroup v1.
func levelResources(weight uint64) *cgroups.Resources {
	out := &cgroups.Resources{SkipDevices: true, SkipFreezeOnSet: true}
	if cgroups.IsCgroup2UnifiedMode() {
		out.CpuWeight = weight
	} else {
		out.CpuShares = weight
	}
	return out
}

// sumOfPods adds up a file of the cgroups below a folder. One that vanishes
// meanwhile counts nothing.
func sumOfPods(dir, file string) int {
	paths, err := filepath.Glob(filepath.Join(dir, "*", file))
	if err != nil {
		return 0
	}
	sum := 0
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		if value, err := strconv.Atoi(strings.TrimSpace(string(content))); err == nil {
			sum += value
		}
	}
	return sum
}
