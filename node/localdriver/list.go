package localdriver

import (
	"context"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/protobuf/types/known/timestamppb"
)

const unusedKey = Name + "/unused"

// Unused says of a volume in the answer to ListVolumes that no pod had it yet: what is in it is what it
// was made with.
func Unused(v *csi.Volume) bool { return v.GetVolumeContext()[unusedKey] == "true" }

// ListVolumes is the volumes of this node.
func (d *Driver) ListVolumes(_ context.Context, req *csi.ListVolumesRequest) (*csi.ListVolumesResponse, error) {
	part, next, err := page(d.volumes.list(), req.GetStartingToken(), req.GetMaxEntries())
	if err != nil {
		return nil, err
	}
	out := &csi.ListVolumesResponse{NextToken: next}
	for _, v := range part {
		volume := d.shownVolume(v)
		if v.Unused {
			volume.VolumeContext = map[string]string{unusedKey: "true"}
		}
		out.Entries = append(out.Entries, &csi.ListVolumesResponse_Entry{Volume: volume, Status: &csi.ListVolumesResponse_VolumeStatus{}})
	}
	return out, nil
}

// ControllerGetVolume is one volume.
func (d *Driver) ControllerGetVolume(_ context.Context, req *csi.ControllerGetVolumeRequest) (*csi.ControllerGetVolumeResponse, error) {
	id, err := d.volume(req.GetVolumeId())
	if err != nil {
		return nil, err
	}
	v, err := d.volumes.get("volume", id)
	if err != nil {
		return nil, err
	}
	return &csi.ControllerGetVolumeResponse{Volume: d.shownVolume(v), Status: &csi.ControllerGetVolumeResponse_VolumeStatus{}}, nil
}

// ListSnapshots is the snapshots of this node, or those that a request describes.
func (d *Driver) ListSnapshots(_ context.Context, req *csi.ListSnapshotsRequest) (*csi.ListSnapshotsResponse, error) {
	var matching []record
	for _, s := range d.snapshots.list() {
		if (req.GetSnapshotId() == "" || req.GetSnapshotId() == d.id(s.ID)) && (req.GetSourceVolumeId() == "" || req.GetSourceVolumeId() == d.id(s.FromVolume)) {
			matching = append(matching, s)
		}
	}
	part, next, err := page(matching, req.GetStartingToken(), req.GetMaxEntries())
	if err != nil {
		return nil, err
	}
	out := &csi.ListSnapshotsResponse{NextToken: next}
	for _, s := range part {
		out.Entries = append(out.Entries, &csi.ListSnapshotsResponse_Entry{Snapshot: d.shownSnapshot(s)})
	}
	return out, nil
}

// GetCapacity is how much may be claimed.
func (d *Driver) GetCapacity(_ context.Context, req *csi.GetCapacityRequest) (*csi.GetCapacityResponse, error) {
	if t := req.GetAccessibleTopology(); t != nil && !d.here([]*csi.Topology{t}) {
		return &csi.GetCapacityResponse{}, nil
	}
	if len(req.GetVolumeCapabilities()) > 0 {
		if _, err := modeOf(req.GetVolumeCapabilities()); err != nil {
			return &csi.GetCapacityResponse{}, nil //nolint:nilerr // there is no room for what can't be made
		}
	}
	free, err := d.available()
	if err != nil {
		return nil, internal("capacity of", d.config.Node, err)
	}
	return &csi.GetCapacityResponse{AvailableCapacity: free}, nil
}

func (d *Driver) shownVolume(v record) *csi.Volume {
	out := &csi.Volume{VolumeId: d.id(v.ID), CapacityBytes: v.Bytes, AccessibleTopology: []*csi.Topology{d.topology()}}
	switch {
	case v.FromSnapshot != "":
		out.ContentSource = &csi.VolumeContentSource{Type: &csi.VolumeContentSource_Snapshot{
			Snapshot: &csi.VolumeContentSource_SnapshotSource{SnapshotId: d.id(v.FromSnapshot)},
		}}
	case v.FromVolume != "":
		out.ContentSource = &csi.VolumeContentSource{Type: &csi.VolumeContentSource_Volume{
			Volume: &csi.VolumeContentSource_VolumeSource{VolumeId: d.id(v.FromVolume)},
		}}
	}
	return out
}

func (d *Driver) shownSnapshot(s record) *csi.Snapshot {
	return &csi.Snapshot{SnapshotId: d.id(s.ID), SourceVolumeId: d.id(s.FromVolume), SizeBytes: s.Bytes, CreationTime: timestamppb.New(s.Created), ReadyToUse: true}
}
