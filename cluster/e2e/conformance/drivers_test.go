//go:build conformance

package conformance

import (
	"net"
	"os"
	"path/filepath"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/lifepod/lifepod/cluster/e2e/instance"
	"github.com/lifepod/lifepod/e2e/imageregistry"
	"github.com/lifepod/lifepod/internal/assert"
)

// kubeletFolder is where some manifests and tests of upstream's look, and can't be told otherwise.
const kubeletFolder = "/var/lib/kubelet"

// TestStorage runs upstream's tests of volumes with its mock driver and the real sidecars.
func TestStorage(t *testing.T) {
	node := startNode(t, append(sidecars, mockDriver)...)
	node.run(t, suite{name: "storage", focus: `CSI Mock|MutableCSINodeAllocatableCount`, skip: offByDefault + `|\[Feature:SELinux\]`, parallel: 2})
}

// TestLocalStorage runs upstream's tests of storage drivers with lifepod's own, but for those
// that want a populator and a validator of other data sources.
func TestLocalStorage(t *testing.T) {
	definition := assert.Get(filepath.Abs("local.yaml")).Must(t)
	node := startNode(t)
	node.linkKubeletFolder(t)
	node.run(t, suite{name: "local-storage", focus: `External.Storage`, skip: offByDefault + `|any volume data source`, parallel: 4, args: []string{"--storage.testdriver", definition}})
}

// TestDevices runs upstream's tests of resource claims.
func TestDevices(t *testing.T) {
	node := startNode(t, mockDriver, devicePlugin)
	node.linkKubeletFolder(t)
	node.run(t, suite{name: "devices", focus: `\[DRA\]`, skip: offByDefault, parallel: 2})
}

// offByDefault is in the names of tests of what is off by default in Kubernetes.
const offByDefault = `\[Feature:OffByDefault\]`

// node is a cluster of one node, where drivers of volumes and devices can be.
type node struct {
	*instance.Instance
	cache    string // .cache of the repository
	registry string // where the images are
	folder   string // of the node, which drivers mount
}

// startNode starts one, with images of drivers besides those that all tests share. It ends
// with the test.
func startNode(t *testing.T, drivers ...program) node {
	t.Helper()
	cache := assert.Get(filepath.Abs("../../../.cache")).Must(t)
	listener := assert.Get(net.Listen("tcp", "127.0.0.1:0")).Must(t)
	more := assert.Get(driverImages(cache, drivers)).Must(t)
	serveRegistry(t, cache, more, listener)
	root, err := os.MkdirTemp("", "lp-") // short, as the names of sockets in it are long
	assert.Must(t, err)
	return node{Instance: instance.New(t, instance.Config{Root: root}), cache: cache, registry: listener.Addr().String(), folder: filepath.Join(root, "node")}
}

func (n node) run(t *testing.T, s suite) {
	t.Helper()
	s.cache, s.kubeconfig, s.registry = n.cache, n.Kubeconfig, n.registry
	s.args = append(s.args, "--num-nodes", "1", "--kubelet-root-dir", n.folder)
	s.run(t.Context(), t)
}

// linkKubeletFolder makes the folder of the node the kubelet's, as `lifepod up` does for its default root: paths of sockets are as long
// as they are there.
func (n *node) linkKubeletFolder(t *testing.T) {
	t.Helper()
	assert.Must(t, os.Symlink(n.folder, kubeletFolder)) // fails where there is a kubelet
	t.Cleanup(func() { assert.Must(t, os.Remove(kubeletFolder)) })
	n.folder = kubeletFolder
}

// program is what an image of a driver has besides the Debian.
type program struct {
	image  string // it has the tags in upstream's manifests, whatever the version of the program is
	folder string // of the file, in .cache
	file   string
	path   string // in the image
}

// sidecars are those that the mock driver's manifests deploy.
var sidecars = []program{
	{"csi-provisioner", "conformance", "csi-provisioner", "csi-provisioner"},
	{"csi-attacher", "conformance", "csi-attacher", "csi-attacher"},
	{"csi-resizer", "conformance", "csi-resizer", "csi-resizer"},
	{"csi-snapshotter", "conformance", "csi-snapshotter", "csi-snapshotter"},
	{"csi-node-driver-registrar", "conformance", "registrar", "csi-node-driver-registrar"},
}

// mockDriver is the driver of volumes, and the proxy for drivers in the tests' process.
var mockDriver = program{"hostpathplugin", "conformance", "hostpathplugin", "hostpathplugin"}

// devicePlugin is upstream's sample.
var devicePlugin = program{"sample-device-plugin", "controlplane", "sample-device-plugin", "sampledeviceplugin"}

// driverImages are the images of the programs.
func driverImages(cache string, programs []program) (list []image, err error) {
	for _, p := range programs {
		content, err := os.ReadFile(filepath.Join(cache, p.folder, "bin", p.file))
		if err != nil {
			return nil, err
		}
		list = append(list, image{name: p.image, config: v1.Config{Entrypoint: []string{"/" + p.path}}, files: []imageregistry.File{{Name: p.path, Mode: 0o755, Content: content}}})
	}
	return list, nil
}
