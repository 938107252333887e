package csi

import (
	"context"
	"errors"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Capabilities are what a driver can do on a node.
type Capabilities struct {
	StageUnstage          bool // volumes are staged once for all pods, before they are published
	VolumeStats           bool
	Expand                bool
	SingleNodeMultiWriter bool // knows the access modes for one writer, and for several on a node
	MountGroup            bool // gives the volume to a group by itself
}

// Capabilities asks the driver what it can do.
func (d *Driver) Capabilities(ctx context.Context) (has Capabilities, err error) {
	var answer *csi.NodeGetCapabilitiesResponse
	err = d.call(func(node csi.NodeClient) error {
		answer, err = node.NodeGetCapabilities(ctx, &csi.NodeGetCapabilitiesRequest{})
		return err
	})
	for _, capability := range answer.GetCapabilities() {
		switch capability.GetRpc().GetType() {
		case csi.NodeServiceCapability_RPC_STAGE_UNSTAGE_VOLUME:
			has.StageUnstage = true
		case csi.NodeServiceCapability_RPC_GET_VOLUME_STATS:
			has.VolumeStats = true
		case csi.NodeServiceCapability_RPC_EXPAND_VOLUME:
			has.Expand = true
		case csi.NodeServiceCapability_RPC_SINGLE_NODE_MULTI_WRITER:
			has.SingleNodeMultiWriter = true
		case csi.NodeServiceCapability_RPC_VOLUME_MOUNT_GROUP:
			has.MountGroup = true
		default: // it says nothing about volumes here
		}
	}
	return has, err
}

// Stage has a volume mounted at its staging path, for all pods of the node.
func (d *Driver) Stage(ctx context.Context, request *csi.NodeStageVolumeRequest) error {
	if err := missing(request.GetVolumeId(), "staging target path", request.GetStagingTargetPath()); err != nil {
		return err
	}
	return d.call(func(node csi.NodeClient) error {
		_, err := node.NodeStageVolume(ctx, request)
		return err
	})
}

// Unstage undoes Stage.
func (d *Driver) Unstage(ctx context.Context, volumeID, path string) error {
	if err := missing(volumeID, "staging target path", path); err != nil {
		return err
	}
	return d.call(func(node csi.NodeClient) error {
		_, err := node.NodeUnstageVolume(ctx, &csi.NodeUnstageVolumeRequest{VolumeId: volumeID, StagingTargetPath: path})
		return err
	})
}

// Publish has a volume mounted at its target path, for one pod.
func (d *Driver) Publish(ctx context.Context, request *csi.NodePublishVolumeRequest) error {
	if err := missing(request.GetVolumeId(), "target path", request.GetTargetPath()); err != nil {
		return err
	}
	return d.call(func(node csi.NodeClient) error {
		_, err := node.NodePublishVolume(ctx, request)
		return err
	})
}

// Unpublish undoes Publish.
func (d *Driver) Unpublish(ctx context.Context, volumeID, path string) error {
	if err := missing(volumeID, "target path", path); err != nil {
		return err
	}
	return d.call(func(node csi.NodeClient) error {
		_, err := node.NodeUnpublishVolume(ctx, &csi.NodeUnpublishVolumeRequest{VolumeId: volumeID, TargetPath: path})
		return err
	})
}

// Expand has the file system of a volume that has grown fill it, and returns its size then.
func (d *Driver) Expand(ctx context.Context, request *csi.NodeExpandVolumeRequest) (newBytes int64, err error) {
	if err := missing(request.GetVolumeId(), "volume path", request.GetVolumePath()); err != nil {
		return 0, err
	}
	if request.GetCapacityRange().GetRequiredBytes() < 0 {
		return 0, errors.New("size can not be less than 0")
	}
	var answer *csi.NodeExpandVolumeResponse
	err = d.call(func(node csi.NodeClient) error {
		answer, err = node.NodeExpandVolume(ctx, request)
		return err
	})
	return answer.GetCapacityBytes(), err
}

// Stats are how full a volume is, and how it is.
func (d *Driver) Stats(ctx context.Context, request *csi.NodeGetVolumeStatsRequest) (answer *csi.NodeGetVolumeStatsResponse, err error) {
	if err := missing(request.GetVolumeId(), "target path", request.GetVolumePath()); err != nil {
		return nil, err
	}
	err = d.call(func(node csi.NodeClient) error {
		answer, err = node.NodeGetVolumeStats(ctx, request)
		return err
	})
	return answer, err
}

// missing says what a request lacks before it is sent.
func missing(volumeID, what, path string) error {
	switch {
	case volumeID == "":
		return errors.New("missing volume id")
	case path == "":
		return errors.New("missing " + what)
	}
	return nil
}

// Final says whether the error of a call means that the driver has stopped working on it (A-CSI-3).
// After another one the driver may still be at it: the volume has to be unpublished and unstaged
// as if the call had succeeded.
func Final(err error) bool {
	answer, ok := status.FromError(err)
	if !ok {
		return false // the call was not made; one before may be under way
	}
	switch answer.Code() {
	case codes.Canceled, codes.DeadlineExceeded, codes.Unavailable, codes.ResourceExhausted, codes.Aborted:
		return false
	}
	return true
}
