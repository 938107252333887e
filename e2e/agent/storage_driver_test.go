package agent

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	registerapi "k8s.io/kubelet/pkg/apis/pluginregistration/v1"

	"github.com/lifepod/lifepod/e2e/member"
	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/node/localdriver"
)

// storageDriver is lifepod's own CSI driver under another name, which notes the calls of its node.
type storageDriver struct {
	t      *testing.T
	name   string // which is that of its CSIDriver, too
	node   *member.Member
	local  *localdriver.Driver
	server *grpc.Server
	served sync.WaitGroup

	mu    sync.Mutex
	calls []string
}

// newStorageDriver starts a driver on a node; spec is that of its CSIDriver, in YAML.
func newStorageDriver(t *testing.T, node *member.Member, name, spec string) *storageDriver {
	t.Helper()
	local := assert.Get(localdriver.New(localdriver.Config{Dir: t.TempDir(), Node: node.Name, Version: "test", Log: slog.New(slog.DiscardHandler)})).Must(t)
	d := &storageDriver{t: t, name: name, node: node, local: local}
	object := "apiVersion: storage.k8s.io/v1\nkind: CSIDriver\nmetadata: {name: " + name + "}\nspec: " + spec + "\n"
	assert.Must(t, assert.ErrorOf(plane.Kubectl(t.Context(), object, "apply", "--filename=-")))
	t.Cleanup(d.close)
	d.run()
	return d
}

// run serves the driver and its registration.
func (d *storageDriver) run() {
	d.t.Helper()
	d.server = grpc.NewServer(grpc.UnaryInterceptor(d.note))
	csi.RegisterIdentityServer(d.server, d.local)
	csi.RegisterNodeServer(d.server, d.local)
	registerapi.RegisterRegistrationServer(d.server, registration{driver: d})
	for _, socket := range []string{d.socket(), d.registrationSocket()} {
		assert.Must(d.t, os.MkdirAll(filepath.Dir(socket), 0o750), removeIfThere(socket))
		listener := assert.Get(net.Listen("unix", socket)).Must(d.t)
		d.served.Go(func() { _ = d.server.Serve(listener) }) // until it is stopped
	}
	d.eventually("CSINode with the driver", func(ctx context.Context) (bool, error) {
		node, err := client.StorageV1().CSINodes().Get(ctx, d.node.Name, metav1.GetOptions{})
		return err == nil && slices.ContainsFunc(node.Spec.Drivers, func(one storagev1.CSINodeDriver) bool { return one.Name == d.name }), nil
	})
}

func (d *storageDriver) eventually(what string, condition wait.ConditionWithContextFunc) {
	d.t.Helper()
	err := wait.PollUntilContextTimeout(d.t.Context(), 100*time.Millisecond, patience, true, condition)
	assert.Require(d.t, err == nil, "%s: %v", what, err)
}

func (d *storageDriver) socket() string {
	return filepath.Join(d.node.Root.Dir, "plugins", d.name, "csi.sock")
}

func (d *storageDriver) registrationSocket() string {
	return filepath.Join(d.node.Root.Dir, "plugins_registry", d.name+"-reg.sock")
}

// stop ends the driver, which leaves what it has mounted.
func (d *storageDriver) stop() {
	d.server.Stop()
	d.served.Wait()
}

func (d *storageDriver) close() {
	d.stop()
	assert.NoError(d.t, client.StorageV1().CSIDrivers().Delete(context.Background(), d.name, metav1.DeleteOptions{}))
}

func (d *storageDriver) note(ctx context.Context, request any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	call := path.Base(info.FullMethod)
	if strings.HasSuffix(call, "stageVolume") || strings.HasSuffix(call, "StageVolume") || strings.HasSuffix(call, "ublishVolume") {
		d.mu.Lock()
		d.calls = append(d.calls, call)
		d.mu.Unlock()
	}
	return handler(ctx, request)
}

// wantCalls says which calls were made since it was asked before.
func (d *storageDriver) wantCalls(want ...string) {
	d.t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	assert.True(d.t, slices.Equal(d.calls, want), "calls of the driver: %q, want %q", d.calls, want)
	d.calls = nil
}

// volume makes a volume of 64 MiB and returns its handle.
func (d *storageDriver) volume(name string, block bool) string {
	d.t.Helper()
	capability := &csi.VolumeCapability{AccessMode: &csi.VolumeCapability_AccessMode{Mode: csi.VolumeCapability_AccessMode_SINGLE_NODE_WRITER}}
	capability.AccessType = &csi.VolumeCapability_Mount{Mount: &csi.VolumeCapability_MountVolume{FsType: "ext4"}}
	if block {
		capability.AccessType = &csi.VolumeCapability_Block{Block: &csi.VolumeCapability_BlockVolume{}}
	}
	made := assert.Get(d.local.CreateVolume(d.t.Context(), &csi.CreateVolumeRequest{
		Name: name, CapacityRange: &csi.CapacityRange{RequiredBytes: 64 << 20}, VolumeCapabilities: []*csi.VolumeCapability{capability},
	})).Must(d.t)
	return made.Volume.VolumeId
}

// expand makes the volume of the claim data twice as large, as an external resizer does.
func (d *storageDriver) expand(c *cluster) {
	d.t.Helper()
	name := c.namespace + "-data"
	volume := assert.Get(client.CoreV1().PersistentVolumes().Get(d.t.Context(), name, metav1.GetOptions{})).Must(d.t)
	assert.Must(d.t, assert.ErrorOf(d.local.ControllerExpandVolume(d.t.Context(), &csi.ControllerExpandVolumeRequest{
		VolumeId: volume.Spec.CSI.VolumeHandle, CapacityRange: &csi.CapacityRange{RequiredBytes: 128 << 20},
	})))
	c.kubectl("patch", "persistentvolume", name, `--patch={"spec": {"capacity": {"storage": "128Mi"}}}`)
	c.kubectl("patch", "persistentvolumeclaim", "data", "--subresource=status",
		`--patch={"status": {"allocatedResources": {"storage": "128Mi"}, "allocatedResourceStatuses": {"storage": "NodeResizePending"},
		"conditions": [{"type": "FileSystemResizePending", "status": "True"}]}}`)
}

func removeIfThere(file string) error {
	if err := os.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// registration is what the agent is told of the driver.
type registration struct {
	registerapi.UnimplementedRegistrationServer
	driver *storageDriver
}

func (r registration) GetInfo(context.Context, *registerapi.InfoRequest) (*registerapi.PluginInfo, error) {
	return &registerapi.PluginInfo{Type: registerapi.CSIPlugin, Name: r.driver.name, Endpoint: r.driver.socket(), SupportedVersions: []string{"1.0.0"}}, nil
}

// NotifyRegistrationStatus takes whether the agent uses the driver.
func (r registration) NotifyRegistrationStatus(_ context.Context, status *registerapi.RegistrationStatus) (*registerapi.RegistrationStatusResponse, error) {
	assert.True(r.driver.t, status.PluginRegistered, "the driver is not registered: %s", status.Error)
	return &registerapi.RegistrationStatusResponse{}, nil
}
