package csi

import (
	"context"
	"errors"
	"fmt"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/lifepod/lifepod/internal/pluginsocket"
)

// Capabilities are what a driver can do on a node.
type Capabilities struct {
	StageUnstage          bool // volumes are staged once for all pods, before they are published
	VolumeStats           bool
	Expand                bool
	SingleNodeMultiWriter bool // knows the access modes for one writer, and for several on a node
	MountGroup            bool // gives the volume to a group by itself
}

// calls are those of a driver, each on a connection of its own.
type calls struct {
	grpc.ClientConnInterface // nil: no call of a node's has a stream
	driver                   *Driver
}

// Invoke makes a call.
func (c calls) Invoke(ctx context.Context, method string, request, answer any, options ...grpc.CallOption) error {
	if err := incomplete(request); err != nil {
		return err
	}
	connection, err := pluginsocket.Client(c.driver.endpoint, c.driver.options...)
	if err != nil {
		return fmt.Errorf("connect to CSI driver %s at %s: %w", c.driver.name, c.driver.endpoint, err)
	}
	defer connection.Close() //nolint:errcheck // nobody waits for what it had to say
	return connection.Invoke(ctx, method, request, answer, options...)
}

// incomplete says what a request lacks before it is sent (A-CSI-3).
func incomplete(request any) error {
	var what, path string
	switch r := request.(type) {
	case *csi.NodeStageVolumeRequest:
		what, path = "staging target path", r.GetStagingTargetPath()
	case *csi.NodeUnstageVolumeRequest:
		what, path = "staging target path", r.GetStagingTargetPath()
	case *csi.NodePublishVolumeRequest:
		what, path = "target path", r.GetTargetPath()
	case *csi.NodeUnpublishVolumeRequest:
		what, path = "target path", r.GetTargetPath()
	case *csi.NodeExpandVolumeRequest:
		what, path = "volume path", r.GetVolumePath()
		if r.GetCapacityRange().GetRequiredBytes() < 0 {
			return errors.New("size can not be less than 0")
		}
	case *csi.NodeGetVolumeStatsRequest:
		what, path = "target path", r.GetVolumePath()
	default: // it is of no volume
		return nil
	}
	switch {
	case request.(interface{ GetVolumeId() string }).GetVolumeId() == "":
		return errors.New("missing volume id")
	case path == "":
		return errors.New("missing " + what)
	}
	return nil
}

// Capabilities asks the driver what it can do.
func (d *Driver) Capabilities(ctx context.Context) (has Capabilities, err error) {
	answer, err := d.node().NodeGetCapabilities(ctx, &csi.NodeGetCapabilitiesRequest{})
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
