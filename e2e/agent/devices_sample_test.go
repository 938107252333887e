package agent

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/e2e/machine"
	"github.com/lifepod/lifepod/e2e/member"
	"github.com/lifepod/lifepod/internal/assert"
)

// sampleResource is what upstream's sample device plugin has two of, Dev-1 and Dev-2.
const sampleResource = "example.com/resource"

// samplePlugin is upstream's sample device plugin. It mounts a file into containers for each
// device that they have, and names it to the runtime (CDI). Its folders can't be chosen: it
// runs where /var/lib/kubelet is the node's.
type samplePlugin struct {
	t       *testing.T
	node    *member.Member
	process *machine.Process
}

// newSamplePlugin starts the plugin on a node, and waits until it has registered.
func newSamplePlugin(t *testing.T, node *member.Member) *samplePlugin {
	t.Helper()
	p := &samplePlugin{t: t, node: node}
	p.run()
	t.Cleanup(p.close)
	awaitDevices(t, node, sampleResource, 2, 2)
	return p
}

func (p *samplePlugin) run() {
	p.t.Helper()
	assert.Must(p.t, os.MkdirAll(cdiFolder, 0o755))
	const script = `mount -t tmpfs none /var/lib && mkdir /var/lib/kubelet && mount --bind . /var/lib/kubelet && exec "$0"`
	command := exec.Command("unshare", "--mount", "sh", "-c", script, plane.Binary("sample-device-plugin"))
	command.Dir, command.Env = p.node.Root.Dir, append(os.Environ(), "CDI_ENABLED=1")
	process := assert.Get(machine.StartProcess(command, filepath.Join(p.t.TempDir(), "plugin.log"))).Must(p.t)
	p.process = process
}

// close ends the plugin, and removes what it leaves when it is killed.
func (p *samplePlugin) close() {
	if p.t.Failed() {
		p.t.Logf("the end of the log of the device plugin:\n%s", p.process.LastLines(20))
	}
	err := p.process.Kill()
	for _, file := range []string{filepath.Join(cdiFolder, "example.com.json"), "/tmp/Dev-1", "/tmp/Dev-2"} {
		if removed := os.Remove(file); !os.IsNotExist(removed) {
			err = errors.Join(err, removed)
		}
	}
	assert.NoError(p.t, err)
}

// awaitDevices waits until a node has that many devices of a resource, and that many that can
// be used.
func awaitDevices(t *testing.T, node *member.Member, resource v1.ResourceName, has, usable int64) {
	t.Helper()
	assert.Must(t, node.AwaitNode(t.Context(), fmt.Sprintf("to have %d %s, of which %d can be used", has, resource, usable), func(n *v1.Node) bool {
		all, some := n.Status.Capacity[resource], n.Status.Allocatable[resource]
		return all.Value() == has && some.Value() == usable
	}))
}
