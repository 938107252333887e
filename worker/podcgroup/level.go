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

// EnsureLevels makes the levels of the classes, which have their values whether they have
// pods or not (A-CRI-6). What an agent before has protected in them, and this one does
// not, is no longer protected (A-RES-7).
func (d Driver) EnsureLevels() error {
	for _, class := range []v1.PodQOSClass{v1.PodQOSBurstable, v1.PodQOSBestEffort} {
		level := d.level(class)
		m, err := d.create(level, Resources{CPUShares: MinCPUShares})
		if err != nil {
			return fmt.Errorf("create cgroup %s: %w", d.path(level), err)
		}
		if err := d.setLevelShares(class, weightFolder(m, func(dir string) string { return dir })); err != nil {
			return err
		}
	}
	return d.coverProtected()
}

// level is that of a class other than Guaranteed.
func (d Driver) level(class v1.PodQOSClass) []string {
	return append(levels(d.Parent), strings.ToLower(string(class)))
}

// settle writes what was read until that is what is read afterwards, too. Pods come and go at
// the same time, of several processes even, and whoever has read before another pod came
// may write after its sum was written: the last one to write has seen all pods.
func settle[T comparable](read func() T, write func(T) error) error {
	for value := read(); ; {
		if err := write(value); err != nil {
			return err
		}
		now := read()
		if now == value {
			return nil
		}
		value = now
	}
}

// setLevelShares weighs the level of a class against Guaranteed pods, as
// Kubernetes does: besteffort as a whole has the least there is, however many
// pods it has, and burstable what its pods ask for together. The sum is read
// from the kernel, so that several lifepods agree; a pod that goes lowers it when
// the next one comes. dir is the level's folder that has its weight.
func (d Driver) setLevelShares(class v1.PodQOSClass, dir string) error {
	if class == v1.PodQOSGuaranteed || dir == "" {
		return nil
	}
	file, lowest, highest := "cpu.shares", MinCPUShares, maxCPUShares
	if cgroups.IsCgroup2UnifiedMode() {
		file, lowest, highest = "cpu.weight", 1, maxCPUWeight
	}
	level := d.level(class)
	weight := func() int {
		if class != v1.PodQOSBurstable {
			return lowest
		}
		return min(max(sumOfPods(dir, file), lowest), highest)
	}
	write := func(weight int) error {
		if d.Systemd {
			m, err := d.manager(level, Resources{CPUShares: MinCPUShares})
			if err != nil {
				return err
			}
			return m.Set(levelResources(uint64(weight))) // systemd would write its own value over one in the file
		}
		return cgroups.WriteFile(dir, file, strconv.Itoa(weight))
	}
	err := d.Batches.shares(class).together(func() error { return settle(weight, write) })
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("set %s of cgroup %s: %w", file, d.path(level), err)
	}
	return nil
}

// weightFolder is a folder that has a weight: that of a cgroup, or one that follows from it. Empty: nothing weighs here.
func weightFolder(m cgroups.Manager, of func(string) string) string {
	dir := m.Path("cpu")
	if cgroups.IsCgroup2UnifiedMode() {
		dir = m.Path("")
	}
	if dir == "" {
		return ""
	}
	return of(dir)
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
	pods, err := os.ReadDir(dir)
	if err != nil {
		return 0
	}
	sum := 0
	for _, pod := range pods {
		if !pod.IsDir() {
			continue
		}
		content, err := os.ReadFile(filepath.Join(dir, pod.Name(), file))
		if err != nil {
			continue
		}
		if value, err := strconv.Atoi(strings.TrimSpace(string(content))); err == nil {
			sum += value
		}
	}
	return sum
}

// Enforce limits what all pods together may use: cpu is a share against the rest
// of the machine, memory, process IDs and huge pages are limits (A-RES-6).
func (d Driver) Enforce(limit v1.ResourceList) error {
	resources := ofList(limit, false)
	resources.CPUShares = max(resources.CPUShares, MinCPUShares)
	resources.HugePages = HugePages(limit)
	if _, err := d.create(levels(d.Parent), resources); err != nil {
		return fmt.Errorf("limit cgroup %s: %w", d.path(levels(d.Parent)), err)
	}
	return nil
}
