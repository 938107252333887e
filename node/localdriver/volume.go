package localdriver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// ControllerGetCapabilities says what the controller does.
func (d *Driver) ControllerGetCapabilities(context.Context, *csi.ControllerGetCapabilitiesRequest) (*csi.ControllerGetCapabilitiesResponse, error) {
	out := &csi.ControllerGetCapabilitiesResponse{}
	for _, t := range []csi.ControllerServiceCapability_RPC_Type{
		csi.ControllerServiceCapability_RPC_CREATE_DELETE_VOLUME, csi.ControllerServiceCapability_RPC_LIST_VOLUMES,
		csi.ControllerServiceCapability_RPC_GET_VOLUME, csi.ControllerServiceCapability_RPC_GET_CAPACITY,
		csi.ControllerServiceCapability_RPC_CREATE_DELETE_SNAPSHOT, csi.ControllerServiceCapability_RPC_LIST_SNAPSHOTS,
		csi.ControllerServiceCapability_RPC_CLONE_VOLUME, csi.ControllerServiceCapability_RPC_EXPAND_VOLUME,
		csi.ControllerServiceCapability_RPC_SINGLE_NODE_MULTI_WRITER,
	} {
		out.Capabilities = append(out.Capabilities, &csi.ControllerServiceCapability{
			Type: &csi.ControllerServiceCapability_Rpc{Rpc: &csi.ControllerServiceCapability_RPC{Type: t}},
		})
	}
	return out, nil
}

// CreateVolume makes an empty volume, or one with the content of a snapshot or of another
// volume.
func (d *Driver) CreateVolume(_ context.Context, req *csi.CreateVolumeRequest) (*csi.CreateVolumeResponse, error) {
	if err := wanted("name", req.GetName()); err != nil {
		return nil, err
	}
	block, err := modeOf(req.GetVolumeCapabilities())
	if err != nil {
		return nil, err
	}
	if err := known(req.GetParameters()); err != nil {
		return nil, err
	}
	if err := known(req.GetMutableParameters()); err != nil {
		return nil, err
	}
	if !d.here(req.GetAccessibilityRequirements().GetRequisite()) {
		return nil, status.Errorf(codes.ResourceExhausted, "the volume is wanted on other nodes: this is node %q", d.config.Node)
	}
	want := record{ID: idOf(req.GetName()), Name: req.GetName(), Block: block, Unused: true, Created: time.Now().UTC()}
	if want.FromSnapshot, err = d.given("snapshot", req.GetVolumeContentSource().GetSnapshot().GetSnapshotId()); err != nil {
		return nil, err
	}
	if want.FromVolume, err = d.given("volume", req.GetVolumeContentSource().GetVolume().GetVolumeId()); err != nil {
		return nil, err
	}
	end, err := d.begin(thing{volume: want.ID}, thing{volume: want.FromVolume}, thing{snapshot: want.FromSnapshot})
	if err != nil {
		return nil, err
	}
	defer end()
	if have, err := d.volumes.get("volume", want.ID); status.Code(err) != codes.NotFound {
		return d.madeBefore(have, want, req, err)
	}
	made, err := d.create(want, req.GetCapacityRange())
	if err != nil {
		return nil, internal("create volume", want.ID, err)
	}
	return &csi.CreateVolumeResponse{Volume: d.shownVolume(made)}, nil
}

// madeBefore answers a request for a volume of a name that there is.
func (d *Driver) madeBefore(have, want record, req *csi.CreateVolumeRequest, err error) (*csi.CreateVolumeResponse, error) {
	switch {
	case err != nil:
		return nil, err
	case have.Name != want.Name || have.Block != want.Block || have.FromSnapshot != want.FromSnapshot || have.FromVolume != want.FromVolume || !fits(have.Bytes, req.GetCapacityRange()):
		return nil, status.Errorf(codes.AlreadyExists, "volume %q exists, with another size, mode or source", want.ID)
	}
	return &csi.CreateVolumeResponse{Volume: d.shownVolume(have)}, nil
}

func (d *Driver) create(v record, limits *csi.CapacityRange) (record, error) {
	source, image, err := d.source(v)
	if err != nil {
		return v, err
	}
	if v.Bytes, err = sizeOf(limits, source.Bytes); err != nil {
		return v, err
	}
	release, err := d.reserve(v.Bytes)
	if err != nil {
		return v, err
	}
	defer release()
	fill := fillEmpty
	if image != "" {
		fill = func(path string, v *record) error {
			v.FileSystem, v.Used = source.FileSystem, source.Used
			if err := d.copyFrom(source, v.FromVolume != "", path, v); err != nil {
				return err
			}
			return growImage(path, v.Bytes)
		}
	}
	if err := d.volumes.add(v, fill); err != nil {
		return v, err
	}
	return d.volumes.get("volume", v.ID)
}

func fillEmpty(path string, v *record) error {
	if err := makeImage(path, v.Bytes); err != nil || v.Block {
		return err
	}
	v.FileSystem = v.Bytes
	return makeFileSystem(path)
}

// source is what a new volume gets its content from, and the image of it, "" if the volume
// is to be empty.
func (d *Driver) source(v record) (source record, image string, err error) {
	switch {
	case v.FromSnapshot != "":
		source, err = d.snapshots.get("snapshot", v.FromSnapshot)
		image = d.snapshots.image(source.ID)
	case v.FromVolume != "":
		source, err = d.volumes.get("volume", v.FromVolume)
		image = d.volumes.image(source.ID)
	}
	if err == nil && image != "" && source.Block != v.Block {
		err = status.Errorf(codes.InvalidArgument, "source %q of volume %q has another mode: one is a block device, one has a file system", source.ID, v.ID)
	}
	return source, image, err
}

// DeleteVolume deletes a volume; there may be none.
func (d *Driver) DeleteVolume(ctx context.Context, req *csi.DeleteVolumeRequest) (*csi.DeleteVolumeResponse, error) {
	if err := wanted("volume_id", req.GetVolumeId()); err != nil {
		return nil, err
	}
	if _, err := NodeOf(req.GetVolumeId()); err != nil {
		return &csi.DeleteVolumeResponse{}, nil // there is none of such an ID
	}
	id, err := d.local("volume", req.GetVolumeId())
	if err != nil {
		return nil, err
	}
	end, err := d.begin(thing{volume: id})
	if err != nil {
		return nil, err
	}
	defer end()
	if _, err := d.volumes.get("volume", id); status.Code(err) == codes.NotFound {
		return &csi.DeleteVolumeResponse{}, nil
	}
	device, err := findLoopInUse(ctx, d.volumes.image(id))
	switch {
	case device != "":
		return nil, status.Errorf(codes.FailedPrecondition, "volume %q is in use, as %s", id, device)
	case errors.Is(err, os.ErrNotExist):
		err = nil // damaged
	}
	if err == nil {
		err = d.volumes.remove(id)
	}
	if err != nil {
		return nil, internal("delete volume", id, err)
	}
	return &csi.DeleteVolumeResponse{}, nil
}

// ValidateVolumeCapabilities says whether a volume can be used as wanted.
func (d *Driver) ValidateVolumeCapabilities(_ context.Context, req *csi.ValidateVolumeCapabilitiesRequest) (*csi.ValidateVolumeCapabilitiesResponse, error) {
	id, err := d.volume(req.GetVolumeId())
	if err != nil {
		return nil, err
	}
	if len(req.GetVolumeCapabilities()) == 0 {
		return nil, status.Error(codes.InvalidArgument, "volume_capabilities are missing")
	}
	v, err := d.volumes.get("volume", id)
	if err != nil {
		return nil, err
	}
	block, err := modeOf(req.GetVolumeCapabilities())
	switch {
	case err != nil:
		return &csi.ValidateVolumeCapabilitiesResponse{Message: status.Convert(err).Message()}, nil
	case block != v.Block:
		return &csi.ValidateVolumeCapabilitiesResponse{Message: "the volume has the other mode"}, nil
	}
	return &csi.ValidateVolumeCapabilitiesResponse{Confirmed: &csi.ValidateVolumeCapabilitiesResponse_Confirmed{VolumeCapabilities: req.GetVolumeCapabilities()}}, nil
}

// ControllerExpandVolume lets a volume be larger. Who uses it has to be told by
// NodeExpandVolume.
func (d *Driver) ControllerExpandVolume(_ context.Context, req *csi.ControllerExpandVolumeRequest) (*csi.ControllerExpandVolumeResponse, error) {
	id, err := d.volume(req.GetVolumeId())
	if err != nil {
		return nil, err
	}
	if req.GetCapacityRange() == nil {
		return nil, status.Error(codes.InvalidArgument, "capacity_range is missing")
	}
	end, err := d.begin(thing{volume: id})
	if err != nil {
		return nil, err
	}
	defer end()
	v, err := d.volumes.get("volume", id)
	if err != nil {
		return nil, err
	}
	bytes, err := sizeOf(req.GetCapacityRange(), v.Bytes)
	if err != nil {
		return nil, err
	}
	if bytes > v.Bytes {
		release, err := d.reserve(bytes - v.Bytes)
		if err != nil {
			return nil, internal("expand volume", id, err)
		}
		defer release()
		v.Bytes = bytes
		if err := errors.Join(growImage(d.volumes.image(id), bytes), d.volumes.save(v)); err != nil {
			return nil, internal("expand volume", id, err)
		}
	}
	return &csi.ControllerExpandVolumeResponse{CapacityBytes: v.Bytes, NodeExpansionRequired: true}, nil
}

// available is how many bytes may be promised: what is free, without what volumes were
// promised and have not written yet.
func (d *Driver) available() (int64, error) {
	var stat unix.Statfs_t
	if err := unix.Statfs(d.volumes.dir, &stat); err != nil {
		return 0, fmt.Errorf("free space in %s: %w", d.volumes.dir, err)
	}
	free := int64(stat.Bavail) * stat.Bsize
	for _, v := range d.volumes.list() {
		free -= v.Bytes - d.written(v)
	}
	return max(0, free), nil
}

// written is how much of its image takes up room that is its own.
func (d *Driver) written(v record) int64 {
	if v.Shared {
		return 0
	}
	return min(v.Bytes, allocated(d.volumes.image(v.ID)))
}

// allocated is how much room a file takes up, shared or not; 0 if there is no such file.
func allocated(path string) int64 {
	var stat unix.Stat_t
	if unix.Stat(path, &stat) != nil {
		return 0
	}
	return stat.Blocks * 512
}

// reserve promises bytes to what is being made, until release is called. By then it is on
// its store, or has failed.
func (d *Driver) reserve(bytes int64) (release func(), err error) {
	free, err := d.available()
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if free -= d.pending; bytes > free {
		return nil, status.Errorf(codes.ResourceExhausted, "%d bytes are wanted, but the file system of %s has only %d that are neither used nor promised to other volumes", bytes, d.config.Dir, max(0, free))
	}
	d.pending += bytes
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.pending -= bytes
	}, nil
}
