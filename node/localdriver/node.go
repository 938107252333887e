package localdriver

import (
	"context"
	"os"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// NodeGetInfo says which node this is.
func (d *Driver) NodeGetInfo(context.Context, *csi.NodeGetInfoRequest) (*csi.NodeGetInfoResponse, error) {
	return &csi.NodeGetInfoResponse{NodeId: d.config.Node, AccessibleTopology: d.topology()}, nil
}

// NodeGetCapabilities says what the driver does on a node.
func (d *Driver) NodeGetCapabilities(context.Context, *csi.NodeGetCapabilitiesRequest) (*csi.NodeGetCapabilitiesResponse, error) {
	out := &csi.NodeGetCapabilitiesResponse{}
	for _, t := range []csi.NodeServiceCapability_RPC_Type{
		csi.NodeServiceCapability_RPC_STAGE_UNSTAGE_VOLUME, csi.NodeServiceCapability_RPC_GET_VOLUME_STATS,
		csi.NodeServiceCapability_RPC_EXPAND_VOLUME, csi.NodeServiceCapability_RPC_SINGLE_NODE_MULTI_WRITER,
	} {
		out.Capabilities = append(out.Capabilities, &csi.NodeServiceCapability{
			Type: &csi.NodeServiceCapability_Rpc{Rpc: &csi.NodeServiceCapability_RPC{Type: t}},
		})
	}
	return out, nil
}

// NodeGetVolumeStats says how full a volume is.
func (d *Driver) NodeGetVolumeStats(_ context.Context, req *csi.NodeGetVolumeStatsRequest) (*csi.NodeGetVolumeStatsResponse, error) {
	path := req.GetVolumePath()
	if err := wanted("volume_path", path); err != nil {
		return nil, err
	}
	id, err := d.volume(req.GetVolumeId())
	if err != nil {
		return nil, err
	}
	v, err := d.at(id, path)
	if err != nil {
		return nil, err
	}
	if v.Block {
		return &csi.NodeGetVolumeStatsResponse{Usage: []*csi.VolumeUsage{{Unit: csi.VolumeUsage_BYTES, Total: v.Bytes}}}, nil
	}
	var stat unix.Statfs_t
	if err := unix.Statfs(path, &stat); err != nil {
		return nil, internal("usage of volume", v.ID, err)
	}
	return &csi.NodeGetVolumeStatsResponse{Usage: []*csi.VolumeUsage{
		{Unit: csi.VolumeUsage_BYTES, Total: int64(stat.Blocks) * stat.Bsize, Available: int64(stat.Bavail) * stat.Bsize, Used: int64(stat.Blocks-stat.Bfree) * stat.Bsize},
		{Unit: csi.VolumeUsage_INODES, Total: int64(stat.Files), Available: int64(stat.Ffree), Used: int64(stat.Files - stat.Ffree)},
	}}, nil
}

// at is a volume that is staged or published at a path.
func (d *Driver) at(id, path string) (record, error) {
	v, err := d.volumes.get("volume", id)
	if err != nil {
		return v, err
	}
	image := d.volumes.image(id)
	if v.Block {
		// The path may be the folder of the stage, or any device that leads to the volume.
		device, err := findLoop(image)
		if _, missing := os.Stat(path); err != nil || device == "" || missing != nil {
			return v, status.Errorf(codes.NotFound, "volume %q is not at %s", id, path)
		}
		return v, nil
	}
	if mounted, err := isMounted(image, path); err != nil || !mounted {
		return v, status.Errorf(codes.NotFound, "volume %q is not mounted at %s", id, path)
	}
	return v, nil
}

// NodeExpandVolume lets block device and file system be as large as the volume, while they
// are used.
func (d *Driver) NodeExpandVolume(_ context.Context, req *csi.NodeExpandVolumeRequest) (*csi.NodeExpandVolumeResponse, error) {
	if err := wanted("volume_path", req.GetVolumePath()); err != nil {
		return nil, err
	}
	id, err := d.volume(req.GetVolumeId())
	if err != nil {
		return nil, err
	}
	end, err := d.begin(thing{volume: id})
	if err != nil {
		return nil, err
	}
	defer end()
	v, err := d.at(id, req.GetVolumePath())
	if err != nil {
		return nil, err
	}
	if v.Block {
		err = d.stageBlock(v)
	} else {
		err = d.grow(&v)
	}
	if err != nil {
		return nil, internal("expand volume", id, err)
	}
	return &csi.NodeExpandVolumeResponse{CapacityBytes: v.Bytes}, nil
}
