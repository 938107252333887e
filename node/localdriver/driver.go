package localdriver

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/lifepod/lifepod/internal/rootfolder"
)

const (
	// Name is the driver's, as in the field `driver` of PersistentVolumes.
	Name = "local.csi.lifepod.dev"
	// TopologyKey is the label that a node with this driver has; its value is the node's name.
	TopologyKey = "topology." + Name + "/node"
)

// Config is what the driver needs.
type Config struct {
	// Dir has the images; made with mode 0700. No other driver uses it at the same time.
	Dir string
	// Node is the name of this node.
	Node string
	// Version is lifepod's.
	Version string
	Log     *slog.Logger
}

// Driver serves CSI's services.
type Driver struct {
	csi.UnimplementedIdentityServer
	csi.UnimplementedControllerServer
	csi.UnimplementedNodeServer

	config    Config
	volumes   *store
	snapshots *store

	mu       sync.Mutex
	underWay map[thing]bool // volumes and snapshots that a call works on
	pending  int64          // bytes promised to what is being made

	calls sync.WaitGroup  // those of underWay
	ctx   context.Context // ends with the driver
	stop  context.CancelFunc
}

// New opens what a driver has left in config.Dir, and thaws file systems that one left
// frozen because it was killed. An error is of the folder; a volume that is damaged holds up
// nothing else.
func New(config Config) (*Driver, error) {
	if err := rootfolder.Ensure(config.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("folder of local volumes: %w", err)
	}
	volumes, err := openStore(filepath.Join(config.Dir, "volumes"))
	if err != nil {
		return nil, fmt.Errorf("open local volumes: %w", err)
	}
	snapshots, err := openStore(filepath.Join(config.Dir, "snapshots"))
	if err != nil {
		return nil, fmt.Errorf("open snapshots of local volumes: %w", err)
	}
	d := &Driver{config: config, volumes: volumes, snapshots: snapshots, underWay: map[thing]bool{}}
	d.ctx, d.stop = context.WithCancel(context.Background())
	d.thawAll()
	return d, nil
}

// HasVolumes says whether there are some on this node.
func (d *Driver) HasVolumes() bool { return len(d.volumes.list()) > 0 }

// thawAll thaws every volume: a pod whose file system stays frozen hangs.
func (d *Driver) thawAll() {
	for _, v := range d.volumes.list() {
		mounts, err := mountsOf(d.volumes.image(v.ID))
		if err == nil && len(mounts) > 0 {
			err = thaw(mounts[0].Mountpoint)
		}
		if err != nil {
			d.config.Log.Error("thaw a local volume: pods that write to it hang", "volume", v.ID, "err", err)
		}
	}
}

// thing is a volume or a snapshot, by its ID; "" is none.
type thing struct{ volume, snapshot string }

func (t thing) String() string {
	if t.volume != "" {
		return fmt.Sprintf("volume %q", t.volume)
	}
	return fmt.Sprintf("snapshot %q", t.snapshot)
}

// begin claims volumes or snapshots for one call; end gives them back.
func (d *Driver) begin(things ...thing) (end func(), err error) {
	things = slices.DeleteFunc(things, func(t thing) bool { return t == thing{} })
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ctx.Err() != nil {
		return nil, status.Error(codes.Unavailable, "the driver ends")
	}
	for _, id := range things {
		if d.underWay[id] {
			return nil, status.Errorf(codes.Aborted, "another call for %s is under way", id)
		}
	}
	for _, id := range things {
		d.underWay[id] = true
	}
	d.calls.Add(1)
	return func() {
		defer d.calls.Done()
		d.mu.Lock()
		defer d.mu.Unlock()
		for _, id := range things {
			delete(d.underWay, id)
		}
	}, nil
}

// wanted is an error if an argument is empty.
func wanted(name, value string) error {
	if value == "" {
		return status.Errorf(codes.InvalidArgument, "%s is missing", name)
	}
	return nil
}

// internal gives an error that has no code one.
func internal(doing, id string, err error) error {
	if _, coded := status.FromError(err); coded {
		return err
	}
	return status.Errorf(codes.Internal, "%s %q: %v", doing, id, err)
}

// GetPluginInfo says who this is.
func (d *Driver) GetPluginInfo(context.Context, *csi.GetPluginInfoRequest) (*csi.GetPluginInfoResponse, error) {
	return &csi.GetPluginInfoResponse{Name: Name, VendorVersion: d.config.Version}, nil
}

// GetPluginCapabilities says that there is a controller, that volumes are on one node, and
// that they grow while they are used.
func (d *Driver) GetPluginCapabilities(context.Context, *csi.GetPluginCapabilitiesRequest) (*csi.GetPluginCapabilitiesResponse, error) {
	service := func(t csi.PluginCapability_Service_Type) *csi.PluginCapability {
		return &csi.PluginCapability{Type: &csi.PluginCapability_Service_{Service: &csi.PluginCapability_Service{Type: t}}}
	}
	return &csi.GetPluginCapabilitiesResponse{Capabilities: []*csi.PluginCapability{
		service(csi.PluginCapability_Service_CONTROLLER_SERVICE),
		service(csi.PluginCapability_Service_VOLUME_ACCESSIBILITY_CONSTRAINTS),
		{Type: &csi.PluginCapability_VolumeExpansion_{VolumeExpansion: &csi.PluginCapability_VolumeExpansion{Type: csi.PluginCapability_VolumeExpansion_ONLINE}}},
	}}, nil
}

// Probe says that the driver is ready, which it is from the start.
func (d *Driver) Probe(context.Context, *csi.ProbeRequest) (*csi.ProbeResponse, error) {
	return &csi.ProbeResponse{Ready: wrapperspb.Bool(true)}, nil
}
