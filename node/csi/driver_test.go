package csi

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/lifepod/lifepod/internal/assert"
)

// driver is a CSI driver whose volumes are tmpfs: staging mounts one, publishing binds it. It
// refuses what a driver may refuse, and does nothing twice.
type driver struct {
	*fakeDriver

	device func() string // which it publishes

	// guarded by mu
	calls     []string
	published []*csi.NodePublishVolumeRequest
	staged    []*csi.NodeStageVolumeRequest
	figured   string           // the path whose figures were asked for last
	fault     map[string]fault // by call: once
}

// fault is what a driver does instead of a call.
type fault func(ctx context.Context, do func() error) error

func newDriver(t *testing.T, can ...csi.NodeServiceCapability_RPC_Type) *driver {
	t.Helper()
	d := &driver{fakeDriver: &fakeDriver{about: DriverOnNode{NodeID: "id"}, can: can}, fault: map[string]fault{}}
	d.device = sync.OnceValue(func() string { return deviceOfFile(t) })
	d.begin(t, d)
	return d
}

func (d *driver) called() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.calls)
}

func (d *driver) forgetCalls() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls = nil
}

func (d *driver) lastPublish() *csi.NodePublishVolumeRequest {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.published[len(d.published)-1]
}

// once has the next call of a name go wrong.
func (d *driver) once(call string, f fault) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fault[call] = f
}

func (d *driver) do(ctx context.Context, call string, do func() error) error {
	d.mu.Lock()
	d.calls = append(d.calls, call)
	d.mu.Unlock()
	return d.instead(ctx, call, do)
}

func (d *driver) instead(ctx context.Context, call string, do func() error) error {
	d.mu.Lock()
	fault := d.fault[call]
	delete(d.fault, call)
	d.mu.Unlock()
	if fault != nil {
		return fault(ctx, do)
	}
	return do()
}

func (d *driver) NodeGetInfo(ctx context.Context, r *csi.NodeGetInfoRequest) (*csi.NodeGetInfoResponse, error) {
	answer := &csi.NodeGetInfoResponse{}
	err := d.instead(ctx, "GetInfo", func() (err error) {
		answer, err = d.fakeDriver.NodeGetInfo(ctx, r)
		return err
	})
	return answer, err
}

func (d *driver) NodeStageVolume(ctx context.Context, r *csi.NodeStageVolumeRequest) (*csi.NodeStageVolumeResponse, error) {
	return &csi.NodeStageVolumeResponse{}, d.do(ctx, "Stage", func() error {
		d.mu.Lock()
		d.staged = append(d.staged, r)
		d.mu.Unlock()
		if r.GetVolumeCapability().GetBlock() != nil || isMounted(r.StagingTargetPath) {
			return nil
		}
		return unix.Mount("csi-test", r.StagingTargetPath, "tmpfs", 0, "size=1m")
	})
}

func (d *driver) NodeUnstageVolume(ctx context.Context, r *csi.NodeUnstageVolumeRequest) (*csi.NodeUnstageVolumeResponse, error) {
	return &csi.NodeUnstageVolumeResponse{}, d.do(ctx, "Unstage", func() error { return unmountIfMounted(r.StagingTargetPath) })
}

func (d *driver) NodePublishVolume(ctx context.Context, r *csi.NodePublishVolumeRequest) (*csi.NodePublishVolumeResponse, error) {
	return &csi.NodePublishVolumeResponse{}, d.do(ctx, "Publish", func() error {
		d.mu.Lock()
		d.published = append(d.published, r)
		d.mu.Unlock()
		if r.GetVolumeCapability().GetBlock() != nil {
			return d.publishDevice(r)
		}
		if isMounted(r.TargetPath) {
			return nil
		}
		if err := os.MkdirAll(r.TargetPath, 0o750); err != nil {
			return err
		}
		if r.StagingTargetPath == "" {
			return unix.Mount("csi-test", r.TargetPath, "tmpfs", 0, "size=1m")
		}
		if !isMounted(r.StagingTargetPath) {
			return status.Error(codes.FailedPrecondition, "not staged")
		}
		return unix.Mount(r.StagingTargetPath, r.TargetPath, "", unix.MS_BIND, "")
	})
}

func (d *driver) NodeExpandVolume(ctx context.Context, r *csi.NodeExpandVolumeRequest) (*csi.NodeExpandVolumeResponse, error) {
	return &csi.NodeExpandVolumeResponse{}, d.do(ctx, "Expand", func() error {
		if !isMounted(r.VolumePath) || !isMounted(r.StagingTargetPath) || r.CapacityRange.RequiredBytes != 2<<20 {
			return status.Errorf(codes.Internal, "asked for %+v", r)
		}
		return nil
	})
}

func (d *driver) NodeGetVolumeStats(ctx context.Context, r *csi.NodeGetVolumeStatsRequest) (*csi.NodeGetVolumeStatsResponse, error) {
	answer := &csi.NodeGetVolumeStatsResponse{Usage: []*csi.VolumeUsage{{Unit: csi.VolumeUsage_BYTES, Total: 7}}}
	return answer, d.do(ctx, "Stats", func() error {
		d.figured = r.VolumePath
		return nil
	})
}

// publishDevice makes a node of the device.
func (d *driver) publishDevice(r *csi.NodePublishVolumeRequest) error {
	var device unix.Stat_t
	if err := unix.Stat(d.device(), &device); err != nil {
		return err
	}
	err := unix.Mknod(r.TargetPath, unix.S_IFBLK|0o600, int(device.Rdev))
	if err == unix.EEXIST {
		return nil
	}
	return err
}

func (d *driver) NodeUnpublishVolume(ctx context.Context, r *csi.NodeUnpublishVolumeRequest) (*csi.NodeUnpublishVolumeResponse, error) {
	return &csi.NodeUnpublishVolumeResponse{}, d.do(ctx, "Unpublish", func() error {
		if err := unmountIfMounted(r.TargetPath); err != nil {
			return err
		}
		return removeIfThere(r.TargetPath)
	})
}

func isMounted(path string) bool {
	parent, _ := os.Stat(filepath.Dir(path))
	info, err := os.Stat(path)
	return err == nil && !os.SameFile(info, parent) && deviceOf(info) != deviceOf(parent)
}

func unmountIfMounted(path string) error {
	for isMounted(path) {
		if err := unix.Unmount(path, 0); err != nil {
			return err
		}
	}
	return nil
}

// refuses is a driver that does nothing.
func refuses(code codes.Code) fault {
	return func(context.Context, func() error) error { return status.Error(code, "out of order") }
}

// patience is how long a call may take that has to work.
const patience = time.Minute

// A-CSI-17: each call of a driver is counted.
func TestCounted(t *testing.T) {
	m := csidriverNewMachine(t, csiTestNode("uid-1", nil))
	var mu sync.Mutex
	var asked []string
	m.config.Counted = func(driver string) grpc.DialOption {
		return grpc.WithChainUnaryInterceptor(func(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn, next grpc.UnaryInvoker, options ...grpc.CallOption) error {
			mu.Lock()
			asked = append(asked, driver+" "+method)
			mu.Unlock()
			return next(ctx, method, request, reply, conn, options...)
		})
	}
	m.register("d", serve(t, DriverOnNode{NodeID: "n-1"}))
	d := assert.Get(m.Driver("d")).Must(t)
	_ = assert.Get(d.node().NodeUnpublishVolume(t.Context(), &csi.NodeUnpublishVolumeRequest{VolumeId: "v", TargetPath: "/p"})).Must(t)
	mu.Lock()
	defer mu.Unlock()
	assert.Deep(t, "A-CSI-17: asked", []string{"d /csi.v1.Node/NodeGetInfo", "d /csi.v1.Node/NodeUnpublishVolume"}, asked)
}
