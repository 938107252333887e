package podcgroup

import (
	"errors"
	"fmt"
	"os"
	"path"
	"strconv"
	"strings"

	"github.com/opencontainers/cgroups"
	v1 "k8s.io/api/core/v1"
)

// ResourcePIDs is the name of process IDs in reservations.
const ResourcePIDs v1.ResourceName = "pid"

// ofList is what a list of resources limits a cgroup to; the compressible ones, of which
// a lack is borne, are cpu alone.
func ofList(list v1.ResourceList, compressible bool) Resources {
	var out Resources
	if cpu, set := list[v1.ResourceCPU]; set {
		out.CPUShares = CPUShares(cpu.MilliValue())
	}
	if compressible {
		return out
	}
	out.MemoryLimit, out.PidsLimit = max(0, list.Memory().Value()), 0
	if pids, set := list[ResourcePIDs]; set {
		out.PidsLimit = pids.Value()
	}
	return out
}

// EnforceReserved limits the cgroup of processes that are not pods' to what is reserved
// for them (A-RES-6). It must be there; with the systemd driver it is a slice.
func (d Driver) EnforceReserved(cgroup string, reserved v1.ResourceList, compressible bool) error {
	names := namesOf(cgroup, d.Systemd)
	resources := ofList(reserved, compressible)
	if d.MemoryQoS.On && resources.MemoryLimit > 0 {
		resources.Unified = map[string]string{memoryMin: strconv.FormatInt(resources.MemoryLimit, 10)}
	}
	m, err := d.manager(names, resources)
	if err != nil {
		return err
	}
	dirs := []string{m.Path("")}
	if !cgroups.IsCgroup2UnifiedMode() {
		dirs = []string{m.Path("cpu"), m.Path("memory"), m.Path("pids")}
	}
	for _, dir := range dirs {
		if _, err := os.Stat(dir); dir == "" || err != nil {
			return fmt.Errorf("%w: %s", errNoCgroup, path.Join("/", cgroup))
		}
	}
	return m.Set(resources.cgroup())
}

var errNoCgroup = errors.New("there is no such cgroup in every hierarchy: should be there before lifepod starts")

// namesOf are the levels of a cgroup, or slice, by its path, as of Path.
func namesOf(cgroup string, slice bool) []string {
	if slice {
		return strings.Split(strings.TrimSuffix(path.Base(cgroup), ".slice"), "-")
	}
	return strings.Split(strings.Trim(cgroup, "/"), "/")
}
