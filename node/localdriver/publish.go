package localdriver

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/moby/sys/mount"
	"github.com/moby/sys/mountinfo"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// NodePublishVolume makes a volume that is staged available to a pod at a path.
func (d *Driver) NodePublishVolume(_ context.Context, req *csi.NodePublishVolumeRequest) (*csi.NodePublishVolumeResponse, error) {
	if err := wanted("target_path", req.GetTargetPath()); err != nil {
		return nil, err
	}
	v, end, err := d.used(req.GetVolumeId(), req.GetVolumeCapability())
	if err != nil {
		return nil, err
	}
	defer end()
	if err := wanted("staging_target_path", req.GetStagingTargetPath()); err != nil {
		return nil, err
	}
	if err := d.publish(v, req); err != nil {
		return nil, internal("publish volume", v.ID, err)
	}
	return &csi.NodePublishVolumeResponse{}, nil
}

func (d *Driver) publish(v record, req *csi.NodePublishVolumeRequest) error {
	target, source := req.GetTargetPath(), req.GetStagingTargetPath()
	image := d.volumes.image(v.ID)
	device, hold, err := d.staged(v, source)
	if err != nil {
		return err
	}
	defer hold.Close()
	where, make := mountsOf, makeFolder
	if v.Block {
		where, make, source = devicesOf, makeFile, device
	}
	mounts, err := where(image)
	if err != nil {
		return err
	}
	if err := make(target); err != nil {
		return err
	}
	at, err := filepath.EvalSymlinks(target)
	if err != nil {
		return err
	}
	for _, m := range mounts {
		switch {
		case m.Mountpoint == at:
			return nil
		case m.Mountpoint != source && isWhole(m, v) && req.GetVolumeCapability().GetAccessMode().GetMode() == csi.VolumeCapability_AccessMode_SINGLE_NODE_SINGLE_WRITER:
			return errors.Join(status.Errorf(codes.FailedPrecondition, "volume %q is for one pod and is published at %s", v.ID, m.Mountpoint), os.Remove(target))
		}
	}
	options := "bind"
	if req.GetReadonly() {
		options = "bind,ro"
	}
	return mount.Mount(source, target, "", options)
}

// staged is the loop device of a volume, which leads to its image until hold is closed, as does what is mounted at source.
func (d *Driver) staged(v record, source string) (device string, hold *os.File, err error) {
	image := d.volumes.image(v.ID)
	device, hold, err = holdLoop(image)
	if err != nil {
		return "", nil, err
	}
	there := device != ""
	if there && !v.Block {
		there, err = isMounted(image, source)
	}
	if err == nil && !there {
		err = status.Errorf(codes.FailedPrecondition, "volume %q is not staged", v.ID)
	}
	if err != nil && hold != nil {
		return "", nil, errors.Join(err, hold.Close())
	}
	return device, hold, err
}

// isWhole is false for a folder of a volume that somebody has bound elsewhere (subPath).
func isWhole(m *mountinfo.Info, v record) bool { return v.Block || m.Root == "/" }

func makeFolder(path string) error {
	if err := os.Mkdir(path, 0o750); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return nil
}

func makeFile(path string) error {
	file, err := os.OpenFile(path, os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return file.Close()
}

// NodeUnpublishVolume undoes NodePublishVolume; there may be nothing to undo.
func (d *Driver) NodeUnpublishVolume(_ context.Context, req *csi.NodeUnpublishVolumeRequest) (*csi.NodeUnpublishVolumeResponse, error) {
	target := req.GetTargetPath()
	if err := wanted("volume_id", req.GetVolumeId()); err != nil {
		return nil, err
	}
	if err := wanted("target_path", target); err != nil {
		return nil, err
	}
	id, _ := d.local("volume", req.GetVolumeId()) // a target of none is unmounted too
	end, err := d.begin(thing{volume: id})
	if err != nil {
		return nil, err
	}
	defer end()
	err = unmount(target)
	if err == nil {
		// Never more than what publishing made: a folder with content stays.
		if err = os.Remove(target); errors.Is(err, os.ErrNotExist) {
			err = nil
		}
	}
	if err != nil {
		return nil, internal("unpublish volume", req.GetVolumeId(), err)
	}
	return &csi.NodeUnpublishVolumeResponse{}, nil
}
