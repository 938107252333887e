//go:build conformance

package conformance

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/lifepod/lifepod/cluster/e2e/instance"
	"github.com/lifepod/lifepod/e2e/machine"
	"github.com/lifepod/lifepod/internal/assert"
)

// nodeTests are of what a node gives to containers alone.
const nodeTests = `Device Plugin|Device Manager|POD Resources API|\[DRA\]|CPU Manager|Memory Manager|Topology Manager`

// TestNode runs upstream's tests of a kubelet, test/e2e_node, with lifepod agent as the
// program kubelet. They start an etcd and an API server of their own, at the ports that
// these usually have. What they ask of systemd the scripts in the folder node do.
func TestNode(t *testing.T) {
	cache := assert.Get(filepath.Abs("../../../.cache")).Must(t)
	lifepod := assert.Get(instance.Program("../../..")).Must(t)
	scripts := assert.Get(filepath.Abs("node")).Must(t)
	if there, err := os.ReadDir(kubeletFolder); len(there) > 0 || err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("%s is not empty (%v): upstream's tests can't run where there is a kubelet", kubeletFolder, err)
	}
	listener := assert.Get(net.Listen("tcp", "127.0.0.1:0")).Must(t)
	more := assert.Get(driverImages(cache, []program{devicePlugin, {"e2e-test-images/" + devicePlugin.image, devicePlugin.folder, devicePlugin.file, devicePlugin.path}})).Must(t)
	serveRegistry(t, cache, more, listener)
	dir := assert.Get(os.MkdirTemp("", "lp-node-")).Must(t)
	root := machine.Root{Dir: filepath.Join(dir, "root")}
	t.Cleanup(func() { sweepNode(t, lifepod, root) })
	mirror(t, root, listener.Addr().String())

	s := suite{cache: cache, name: "node", focus: nodeTests, skip: offByDefault, registry: listener.Addr().String()}
	out, env := s.prepare(t)
	args := append(s.selection("--ginkgo."), "--ginkgo.junit-report", filepath.Join(out, "junit.xml"),
		"--k8s-bin-dir", scripts, "--kubelet-config-file", filepath.Join(scripts, "kubelet.yaml"), "--report-dir", out,
		"--prepull-images=false", "--container-runtime-endpoint", "unix://"+filepath.Join(root.RunDir(), "containerd.sock"))
	command := exec.CommandContext(t.Context(), filepath.Join(cache, "conformance", "bin", "e2e_node.test"), args...)
	command.Dir = dir
	command.Env = slices.Concat(env, []string{"LIFEPOD=" + lifepod, "ROOT=" + root.Dir, "UNITS=" + filepath.Join(dir, "units"), "PATH=" + scripts + ":" + os.Getenv("PATH")})
	s.judge(t, command, out)
}

// mirror has the runtime ask the tests' registry for images of Kubernetes': one manifest names
// its image whatever the tests are told.
func mirror(t *testing.T, root machine.Root, registry string) {
	t.Helper()
	folder := filepath.Join(root.Dir, "certs.d", "registry.k8s.io")
	assert.Must(t, os.MkdirAll(folder, 0o700))
	assert.Must(t, os.WriteFile(filepath.Join(folder, "hosts.toml"), fmt.Appendf(nil, "[host.'http://%s']\ncapabilities = ['pull', 'resolve']\n", registry), 0o600))
}

// sweepNode ends what the tests have left of the node and its pods.
func sweepNode(t *testing.T, lifepod string, root machine.Root) {
	t.Helper()
	out, err := exec.Command(lifepod, "down", "--root", root.Dir).CombinedOutput()
	assert.True(t, err == nil, "lifepod down: %v\n%s", err, out)
	for _, path := range []string{filepath.Dir(root.Dir), kubeletFolder} {
		assert.Must(t, os.RemoveAll(path))
	}
	assert.Empty(t, root.Left(), "left")
}
