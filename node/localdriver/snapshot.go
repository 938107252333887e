package localdriver

import (
	"context"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// CreateSnapshot copies a volume as it is now.
func (d *Driver) CreateSnapshot(_ context.Context, req *csi.CreateSnapshotRequest) (*csi.CreateSnapshotResponse, error) {
	if err := wanted("name", req.GetName()); err != nil {
		return nil, err
	}
	if err := wanted("source_volume_id", req.GetSourceVolumeId()); err != nil {
		return nil, err
	}
	if err := known(req.GetParameters()); err != nil {
		return nil, err
	}
	volume, err := d.local("volume", req.GetSourceVolumeId())
	if err != nil {
		return nil, err
	}
	s := record{ID: idOf(req.GetName()), Name: req.GetName(), FromVolume: volume, Created: time.Now().UTC()}
	end, err := d.begin(thing{snapshot: s.ID}, thing{volume: s.FromVolume})
	if err != nil {
		return nil, err
	}
	defer end()
	have, err := d.snapshots.get("snapshot", s.ID)
	switch {
	case err == nil && have.Name == s.Name && have.FromVolume == s.FromVolume:
		return &csi.CreateSnapshotResponse{Snapshot: d.shownSnapshot(have)}, nil
	case err == nil:
		return nil, status.Errorf(codes.AlreadyExists, "snapshot %q exists, of volume %q", s.ID, have.FromVolume)
	case status.Code(err) != codes.NotFound:
		return nil, err
	}
	source, err := d.volumes.get("volume", s.FromVolume)
	if err != nil {
		return nil, err
	}
	s.Bytes, s.Block, s.FileSystem, s.Used = source.Bytes, source.Block, source.FileSystem, source.Used
	release, err := d.reserve(allocated(d.volumes.image(source.ID)))
	if err != nil {
		return nil, internal("create snapshot", s.ID, err)
	}
	defer release()
	err = d.snapshots.add(s, func(path string, s *record) error { return d.copyFrom(source, true, path, s) })
	if err != nil {
		return nil, internal("create snapshot", s.ID, err)
	}
	return &csi.CreateSnapshotResponse{Snapshot: d.shownSnapshot(s)}, nil
}

// DeleteSnapshot deletes a snapshot; there may be none. Volumes that were made from it don't
// need it.
func (d *Driver) DeleteSnapshot(_ context.Context, req *csi.DeleteSnapshotRequest) (*csi.DeleteSnapshotResponse, error) {
	if err := wanted("snapshot_id", req.GetSnapshotId()); err != nil {
		return nil, err
	}
	if _, err := NodeOf(req.GetSnapshotId()); err != nil {
		return &csi.DeleteSnapshotResponse{}, nil // there is none of such an ID
	}
	id, err := d.local("snapshot", req.GetSnapshotId())
	if err != nil {
		return nil, err
	}
	end, err := d.begin(thing{snapshot: id})
	if err != nil {
		return nil, err
	}
	defer end()
	if err := d.snapshots.remove(id); err != nil {
		return nil, internal("delete snapshot", id, err)
	}
	return &csi.DeleteSnapshotResponse{}, nil
}

// copyFrom copies the image of a volume, or else of a snapshot. A volume that is mounted is
// frozen meanwhile; what was written to a block device gets to its image before.
func (d *Driver) copyFrom(source record, volume bool, to string, made *record) error {
	if !volume {
		return d.copyShared(d.snapshots, source, to, made)
	}
	image := d.volumes.image(source.ID)
	mounts, err := mountsOf(image)
	if err != nil {
		return err
	}
	if len(mounts) > 0 {
		return frozen(mounts[0].Mountpoint, func() error { return d.copyShared(d.volumes, source, to, made) })
	}
	device, err := findLoop(image)
	if err == nil && device != "" {
		err = syncLoop(device)
	}
	if err != nil {
		return err
	}
	return d.copyShared(d.volumes, source, to, made)
}

// copyShared copies an image, and notes in both records if they share blocks.
func (d *Driver) copyShared(from *store, source record, to string, made *record) error {
	shared, err := copyImage(d.ctx, from.image(source.ID), to)
	if err != nil || !shared {
		return err
	}
	made.Shared = true
	if source.Shared {
		return nil
	}
	source.Shared = true
	return from.save(source)
}
