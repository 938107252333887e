package csi

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/moby/sys/mountinfo"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
)

var errOtherPod = errors.New("volume uses the ReadWriteOncePod access mode and is already in use by another pod")

// onlyPod refuses a second pod for a volume that only one may have.
func (l layout) onlyPod(v volume) error {
	if len(v.modes) != 1 || v.modes[0] != v1.ReadWriteOncePod {
		return nil
	}
	uses, err := l.allUses()
	for _, u := range uses {
		if u.uid != v.pod.UID && u.driver() == v.driver && u.handle() == v.handle {
			return errOtherPod
		}
	}
	return err
}

func (p *publishing) stagingPath() string {
	if p.want.device {
		return p.on.layout.stagedDevice(p.want.name)
	}
	return stagingPath(p.on.layout.staged(p.want.driver, p.want.handle))
}

// stage stages the volume for all pods of the node, if the driver does that (A-CSI-6). It is done
// once: the record says that it was.
func (p *publishing) stage(ctx context.Context) error {
	if !p.can.StageUnstage {
		return nil
	}
	dir, path := p.on.layout.staged(p.want.driver, p.want.handle), p.stagingPath()
	if p.want.device {
		dir = p.on.layout.deviceData(p.want.name)
	}
	if r, err := readRecord(dir); err != nil || r != nil && r[keyDone] == p.on.config.Boot {
		return err
	}
	secrets, err := secretOf(ctx, p.on.config.Client, "NodeStageSecretRef", p.want.secrets.stage)
	if err != nil {
		return err
	}
	r := p.newRecord()
	if err := writeRecord(dir, r); err != nil {
		return err
	}
	if err := os.MkdirAll(path, 0o750); err != nil {
		return err
	}
	_, err = p.driver.node().NodeStageVolume(ctx, &csi.NodeStageVolumeRequest{
		VolumeId: p.want.handle, PublishContext: p.attached, StagingTargetPath: path, VolumeCapability: labelled(p.capability(), p.label), Secrets: secrets,
		VolumeContext: p.want.attributes,
	})
	if err != nil {
		if Final(err) {
			p.on.layout.refused(p.want, dir, path)
		}
		return err
	}
	r[keyDone] = p.on.config.Boot
	return complete(dir, r)
}

// refused removes what was made to stage a volume that the driver refuses: it is not asked to
// unstage it (A-CSI-7). What is mounted there, or another pod has, stays for the driver to take back.
func (l layout) refused(v volume, dir, path string) {
	uses, err := l.allUses()
	for _, u := range uses {
		if u.uid != v.pod.UID && u.driver() == v.driver && u.handle() == v.handle {
			return
		}
	}
	if err != nil || removeIfThere(path) != nil || v.device { // whose record belongs to the pod, too
		return
	}
	_ = os.Remove(filepath.Join(dir, recordName))
	_ = os.Remove(dir)
}

// forget removes what is kept of a volume that the driver has taken back from a pod.
func (v *Volumes) forget(u use) error {
	if u.device {
		return v.forgetDevice(u)
	}
	dir := filepath.Join(v.layout.ofPod(u.uid), u.name)
	mounted, err := mountinfo.Mounted(target(dir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if mounted {
		return fmt.Errorf("driver %s has unpublished volume %s, but it is still mounted at %s", u.driver(), u.handle(), target(dir))
	}
	for _, path := range []string{target(dir), filepath.Join(dir, recordName), dir} {
		if err := removeIfThere(path); err != nil {
			return err
		}
	}
	return nil
}

// release unstages a volume that no pod has any more (A-CSI-7).
func (v *Volumes) release(ctx context.Context, driver *Driver, k key, of use) error {
	uses, err := v.layout.allUses()
	if err != nil {
		return err
	}
	for _, u := range uses {
		if u.driver() == k.driver && u.handle() == k.handle {
			return nil
		}
	}
	began := time.Now()
	if of.device {
		err = v.unstageDevice(ctx, driver, k, of.name)
	} else {
		err = v.unstage(ctx, driver, k)
	}
	if of.record[keyMode] != string(storagev1.VolumeLifecycleEphemeral) { // which is not staged
		v.config.Operation(ended(k.driver, operation("unmount_device", "unmap_device", of.device), began, err))
	}
	return err
}

func (v *Volumes) unstage(ctx context.Context, driver *Driver, k key) error {
	if err := v.unmountStaged(ctx, driver, k); err != nil {
		return err
	}
	v.dropped(k)
	return nil
}

// unmountStaged unstages a volume that is still the node's.
func (v *Volumes) unmountStaged(ctx context.Context, driver *Driver, k key) error {
	dir := v.layout.staged(k.driver, k.handle)
	path := stagingPath(dir)
	if _, err := os.Lstat(filepath.Join(dir, recordName)); err == nil {
		if err := doubt(dir); err != nil {
			return err
		}
		if _, err := driver.node().NodeUnstageVolume(ctx, &csi.NodeUnstageVolumeRequest{VolumeId: k.handle, StagingTargetPath: path}); err != nil {
			return fmt.Errorf("%s: attacher.UnmountDevice failed: %w", pluginName, err)
		}
	}
	mounted, err := mountinfo.Mounted(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if mounted {
		return fmt.Errorf("driver %s has unstaged volume %s, but it is still mounted at %s", k.driver, k.handle, path)
	}
	for _, p := range []string{path, filepath.Join(dir, recordName), dir} {
		if err := removeIfThere(p); err != nil {
			return err
		}
	}
	return nil
}

// dropped: the node has nothing of the volume any more.
func (v *Volumes) dropped(k key) {
	v.sizes.drop(k)
	v.inUse.drop(k)
}

// removeIfThere removes a file or an empty folder.
func removeIfThere(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
