package cni

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vishvananda/netlink"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/lifepod/lifepod/cluster/e2e/instance"
	"github.com/lifepod/lifepod/e2e/machine"
	"github.com/lifepod/lifepod/internal/assert"
)

// patience is how long anything may take before a test gives up.
var patience = machine.Patience

const (
	bridge = "lpcnitest0"
	subnet = "198.19.77.0/24" // of the range for tests of networks (RFC 2544)
)

const pod = `
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - {name: c, image: lifepod.dev/toolbox:1, command: [sh, -c, "sleep 100000"], resources: {limits: {memory: 32Mi}}}
`

// TestOtherNetwork: the node is not ready until a network is configured, whose
// plugins are those of the other folder; pods have its addresses then.
func TestOtherNetwork(t *testing.T) {
	ctx := assert.Context(t, patience)
	conf, bin := t.TempDir(), t.TempDir()
	t.Cleanup(func() {
		if link, err := netlink.LinkByName(bridge); err == nil {
			assert.Must(t, netlink.LinkDel(link))
		}
	})
	c := instance.New(t, instance.Config{Args: []string{"--cni-conf-dir", conf, "--cni-bin-dir", bin, "--disable", "services"}})
	client := assert.Get(c.Client()).Must(t)
	const none = "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:Network plugin returns error: cni plugin not initialized"
	machine.Until(t, "a node that says what it lacks", func() bool {
		status, message := ready(ctx, client)
		return status == v1.ConditionFalse && message == none
	})
	assert.Must(t, assert.ErrorOf(c.Kubectl(ctx, pod, "apply", "-f", "-")))
	configure(t, c.Root, conf, bin)
	machine.Until(t, "the node to be ready", func() bool {
		status, _ := ready(ctx, client)
		return status == v1.ConditionTrue
	})
	var address string
	machine.Until(t, "the pod to run", func() bool {
		p, err := client.CoreV1().Pods("default").Get(ctx, "p", metav1.GetOptions{})
		if err != nil {
			return false
		}
		address = p.Status.PodIP
		return p.Status.Phase == v1.PodRunning
	})
	assert.True(t, strings.HasPrefix(address, "198.19.77."), "the pod has the address %s, want one of %s", address, subnet)
}

// configure installs a network of plugins that have names of their own in bin, and
// the carried ones in it.
func configure(t *testing.T, root, conf, bin string) {
	t.Helper()
	found := assert.Get(filepath.Glob(filepath.Join(root, "bundle", "*", "cni", "bridge"))).Must(t)
	assert.Require(t, len(found) == 1, "the carried plugins: %v, want one bridge", found)
	assert.Must(t, os.Symlink(found[0], filepath.Join(bin, "other-bridge")))
	text := fmt.Sprintf(`{"cniVersion": "1.0.0", "name": "other", "plugins": [{"type": "other-bridge", "bridge": %q, "isGateway": true,
		"ipam": {"type": "lifepod-ipam", "dataDir": %q, "subnet": %q, "routes": [{"dst": "0.0.0.0/0"}]}}]}`, bridge, filepath.Join(bin, "addresses"), subnet)
	assert.Must(t, os.WriteFile(filepath.Join(conf, "10-other.conflist"), []byte(text), 0o600))
}

// ready is the node's condition.
func ready(ctx context.Context, client kubernetes.Interface) (v1.ConditionStatus, string) {
	node, err := client.CoreV1().Nodes().Get(ctx, instance.Node, metav1.GetOptions{})
	if err != nil {
		return "", err.Error()
	}
	c := machine.NodeReady(node)
	return c.Status, c.Message
}
