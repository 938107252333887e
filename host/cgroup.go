package host

import (
	"os"

	"github.com/opencontainers/cgroups"
	"github.com/opencontainers/cgroups/manager"
)

// EnterCgroup moves this process into a cgroup, which is made if there is none.
func EnterCgroup(path string) error {
	m, err := manager.New(&cgroups.Cgroup{Path: path, Resources: &cgroups.Resources{SkipDevices: true}})
	if err != nil {
		return err
	}
	return m.Apply(os.Getpid())
}
