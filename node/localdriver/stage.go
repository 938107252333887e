package localdriver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/moby/sys/mount"
	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/lifepod/lifepod/internal/loopdevice"
)

// NodeStageVolume mounts the file system of a volume, or makes its block device. Both grow
// if the volume has grown.
func (d *Driver) NodeStageVolume(ctx context.Context, req *csi.NodeStageVolumeRequest) (*csi.NodeStageVolumeResponse, error) {
	if err := wanted("staging_target_path", req.GetStagingTargetPath()); err != nil {
		return nil, err
	}
	v, end, err := d.used(req.GetVolumeId(), req.GetVolumeCapability())
	if err != nil {
		return nil, err
	}
	defer end()
	if v.Block {
		err = d.stageBlock(v)
	} else {
		err = d.stage(ctx, v, req.GetStagingTargetPath(), req.GetVolumeCapability().GetMount().GetMountFlags())
	}
	if err != nil {
		return nil, internal("stage volume", v.ID, err)
	}
	return &csi.NodeStageVolumeResponse{}, nil
}

// used is a volume that is to be used as a request says, and which no other call works on.
func (d *Driver) used(id string, capability *csi.VolumeCapability) (v record, end func(), err error) {
	if err := wanted("volume_id", id); err != nil {
		return v, nil, err
	}
	if capability == nil {
		return v, nil, status.Error(codes.InvalidArgument, "volume_capability is missing")
	}
	block, err := capabilityOf(capability)
	if err != nil {
		return v, nil, err
	}
	if id, err = d.local("volume", id); err != nil {
		return v, nil, err
	}
	end, err = d.begin(thing{volume: id})
	if err != nil {
		return v, nil, err
	}
	v, err = d.volumes.get("volume", id)
	if err == nil && block != v.Block {
		err = status.Errorf(codes.InvalidArgument, "volume %q was made in the other mode: it is a block device, or has a file system", id)
	}
	if err != nil {
		end()
		return v, nil, err
	}
	return v, end, nil
}

func (d *Driver) stageBlock(v record) error {
	device, hold, err := attachLoop(d.volumes.image(v.ID), false)
	if err != nil {
		return err
	}
	err = errors.Join(growLoop(device), hold.Close())
	if err == nil && v.Unused {
		v.Unused = false
		err = d.volumes.save(v)
	}
	return err
}

func (d *Driver) stage(ctx context.Context, v record, path string, flags []string) error {
	image := d.volumes.image(v.ID)
	mounted, err := isMounted(image, path)
	if err != nil {
		return err
	}
	device, hold, err := attachLoop(image, true)
	if err != nil {
		return err
	}
	defer hold.Close()
	if !mounted {
		if err := mountDevice(device, path, flags); err != nil {
			return err
		}
	}
	if err := d.grow(&v); err != nil {
		// Without CAP_SYS_RESOURCE an ext4 grows only while it is not mounted.
		err = errors.Join(unmount(path), growUnmounted(ctx, device), mountDevice(device, path, flags))
		if err != nil {
			return err
		}
		v.FileSystem = v.Bytes
		if err := d.volumes.save(v); err != nil {
			return err
		}
	}
	if v.Used && !v.Unused {
		return nil
	}
	if !v.Used {
		if err := fresh(path); err != nil {
			return err
		}
	}
	v.Used, v.Unused = true, false
	return d.volumes.save(v)
}

// mountDevice mounts with discard, so that what is deleted makes room on the node.
func mountDevice(device, path string, flags []string) error {
	return mount.Mount(device, path, "ext4", strings.Join(append([]string{"discard"}, flags...), ","))
}

// fresh makes the root of a new file system what pods expect of an empty volume: without
// lost+found, which e2fsck makes again if it needs it, and for any user to write in, as long
// as the pod does not say otherwise (fsGroup).
func fresh(path string) error {
	if err := os.Remove(filepath.Join(path, "lost+found")); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return os.Chmod(path, 0o777)
}

// grow lets the file system of a volume that is mounted fill the volume.
func (d *Driver) grow(v *record) error {
	if v.FileSystem >= v.Bytes {
		return nil
	}
	device, err := findLoop(d.volumes.image(v.ID))
	if err != nil {
		return err
	}
	if err := errors.Join(growLoop(device), run("resize2fs", device)); err != nil {
		return fmt.Errorf("grow its file system: %w", err)
	}
	v.FileSystem = v.Bytes
	return d.volumes.save(*v)
}

// isMounted says whether an image is mounted at a path.
func isMounted(image, path string) (bool, error) {
	mounts, err := mountsOf(image)
	if err != nil {
		return false, err
	}
	path, err = filepath.EvalSymlinks(path)
	if err != nil {
		return false, err
	}
	for _, m := range mounts {
		if m.Mountpoint == path {
			return true, nil
		}
	}
	return false, nil
}

// NodeUnstageVolume undoes NodeStageVolume; there may be nothing to undo.
func (d *Driver) NodeUnstageVolume(_ context.Context, req *csi.NodeUnstageVolumeRequest) (*csi.NodeUnstageVolumeResponse, error) {
	if err := wanted("volume_id", req.GetVolumeId()); err != nil {
		return nil, err
	}
	if err := wanted("staging_target_path", req.GetStagingTargetPath()); err != nil {
		return nil, err
	}
	id, unknown := d.local("volume", req.GetVolumeId())
	end, err := d.begin(thing{volume: id})
	if err != nil {
		return nil, err
	}
	defer end()
	err = errors.Join(unmount(req.GetStagingTargetPath()), loopdevice.RemoveFree())
	if v, missing := d.volumes.get("volume", id); err == nil && unknown == nil && missing == nil && v.Block {
		err = detachLoop(d.volumes.image(id))
	}
	if err != nil {
		return nil, internal("unstage volume", req.GetVolumeId(), err)
	}
	return &csi.NodeUnstageVolumeResponse{}, nil
}

// Requests of ioctl(2) that golang.org/x/sys does not have.
const (
	freeze   = 0xc0045877 // FIFREEZE
	unfreeze = 0xc0045878 // FITHAW
)

// mountsOf are the places where an image is mounted on this machine.
func mountsOf(image string) ([]*mountinfo.Info, error) {
	device, err := findLoop(image)
	if device == "" || err != nil {
		return nil, err
	}
	var stat unix.Stat_t
	if err := unix.Stat(device, &stat); err != nil {
		return nil, err
	}
	return mountinfo.GetMounts(func(m *mountinfo.Info) (skip, stop bool) {
		return m.Major != int(unix.Major(stat.Rdev)) || m.Minor != int(unix.Minor(stat.Rdev)), false
	})
}

// devicesOf are the places where the block device of an image is.
func devicesOf(image string) ([]*mountinfo.Info, error) {
	device, err := findLoop(image)
	if device == "" || err != nil {
		return nil, err
	}
	return mountinfo.GetMounts(func(m *mountinfo.Info) (skip, stop bool) {
		return m.FSType != "devtmpfs" || m.Root != "/"+filepath.Base(device), false
	})
}

// onFolder does an ioctl on an open folder of a mount.
func onFolder(path string, do func(fd int) error) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(do(int(folder.Fd())), folder.Close())
}

// frozen does something while a file system accepts no writes and has written all that it
// had to.
func frozen(path string, do func() error) error {
	err := onFolder(path, func(fd int) error { return unix.IoctlSetInt(fd, freeze, 0) })
	if err != nil {
		return fmt.Errorf("freeze the file system at %s: %w", path, err)
	}
	return errors.Join(do(), thaw(path))
}

// thaw ends a freeze, if there is one.
func thaw(path string) error {
	err := onFolder(path, func(fd int) error { return unix.IoctlSetInt(fd, unfreeze, 0) })
	if err != nil && !errors.Is(err, unix.EINVAL) {
		return fmt.Errorf("thaw the file system at %s: %w", path, err)
	}
	return nil
}

// unmount takes away a mount at a path, of which there may be none.
func unmount(path string) error {
	err := unix.Unmount(path, unix.UMOUNT_NOFOLLOW)
	if err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("unmount %s: %w", path, err)
	}
	return nil
}

// Release unmounts all volumes in a folder, which need not exist, and takes their block
// devices away, whoever has left them. Pods have ended, and no driver uses the folder
// meanwhile; the next one has the volumes again.
func Release(dir string) error {
	images, err := filepath.Glob(filepath.Join(dir, "volumes", "*", imageFile))
	for _, image := range images {
		if failed := release(image); failed != nil {
			err = errors.Join(err, fmt.Errorf("release local volume %q: %w", filepath.Base(filepath.Dir(image)), failed))
		}
	}
	return err
}

func release(image string) error {
	files, err := mountsOf(image)
	if err != nil {
		return err
	}
	if len(files) > 0 { // one that stays frozen can't be detached
		err = thaw(files[0].Mountpoint)
	}
	devices, failed := devicesOf(image)
	err = errors.Join(err, failed, releaseKept(image))
	for _, m := range slices.Backward(slices.Concat(files, devices)) {
		err = errors.Join(err, unmount(m.Mountpoint))
	}
	return errors.Join(err, detachLoop(image))
}

// releaseKept takes away the loop devices that keep the one of an image open (A-CSI-8).
func releaseKept(image string) error {
	device, err := findLoop(image)
	if device == "" || err != nil {
		return err
	}
	var kept unix.Stat_t
	if err := unix.Stat(device, &kept); err != nil {
		return err
	}
	loops, err := loopdevice.Find(func(info *unix.LoopInfo64) bool { return info.Rdevice == kept.Rdev })
	for _, loop := range loops {
		err = errors.Join(err, loopdevice.Detach(loop))
	}
	return err
}
