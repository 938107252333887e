package controlplane

import (
	"path/filepath"
	"strconv"

	"github.com/lifepod/lifepod/e2e/machine"
)

// disabled are the parts of lifepod up that tests do without: a node, and what it and its pods are
// served with.
const disabled = "node,volumes,folder-volumes,snapshots,services,routes,dns,network-policies,serving-certificates,add-ons"

// state is the state folder of lifepod up.
func (c *ControlPlane) state() machine.Root { return machine.Root{Dir: c.file("up")} }

func (c *ControlPlane) keys() string { return filepath.Join(c.state().Dir, "cluster", "pki") }

func (c *ControlPlane) upFlags() []string {
	return []string{
		"up", "--root=" + c.state().Dir, "--disable=" + disabled,
		"--listen=0.0.0.0:" + strconv.Itoa(c.port),
	}
}
