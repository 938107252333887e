package csi

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/moby/sys/mountinfo"
	"k8s.io/apimachinery/pkg/types"
)

// rememberDevice makes the link by which a pod's devices are found, and the record of the device,
// as the kubelet has them (A-CSI-8).
func (p *publishing) rememberDevice() error {
	data := p.on.layout.deviceData(p.want.name)
	if r, err := readRecord(data); err != nil || r == nil {
		if err != nil {
			return err
		}
		if err := writeRecord(data, p.newRecord()); err != nil {
			return err
		}
	}
	link := p.on.layout.link(p.want.pod.UID, p.want.name)
	if err := os.MkdirAll(filepath.Dir(link), 0o750); err != nil {
		return err
	}
	if err := os.Symlink(p.path(), link); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// keep keeps the pod's device open, if it has one.
func (p *publishing) keep() error {
	if !p.want.device {
		return nil
	}
	return p.want.failed("MapVolume.MapBlockVolume failed", keepDevice(p.on.layout, p.want.pod.UID, p.want.name))
}

// forgetDevice removes what is kept of a pod's device that the driver has taken back.
func (v *Volumes) forgetDevice(u use) error {
	record := v.layout.deviceOf(u.uid, u.name)
	for _, path := range []string{
		v.layout.publishedDevice(u.uid, u.name), filepath.Join(record, recordName), record, v.layout.link(u.uid, u.name),
	} {
		if err := removeIfThere(path); err != nil {
			return err
		}
	}
	return nil
}

// unstageDevice removes what a kubelet keeps of a device, too, such as links.
func (v *Volumes) unstageDevice(ctx context.Context, driver *Driver, k key, name string) error {
	staging, dir := v.layout.stagedDevice(name), v.layout.ofDevice(name)
	if _, err := os.Lstat(staging); err == nil {
		if err := doubt(v.layout.deviceData(name)); err != nil {
			return err
		}
		if _, err := driver.node().NodeUnstageVolume(ctx, &csi.NodeUnstageVolumeRequest{VolumeId: k.handle, StagingTargetPath: staging}); err != nil {
			return fmt.Errorf("%s: blockMapper.unstageVolumeForBlock failed: %w", pluginName, err)
		}
	}
	for _, path := range []string{staging, dir} {
		mounts, err := mountinfo.GetMounts(mountinfo.PrefixFilter(path))
		if err != nil {
			return err
		}
		if len(mounts) > 0 {
			return fmt.Errorf("driver %s has unstaged volume %s, but something is mounted at %s", k.driver, k.handle, mounts[0].Mountpoint)
		}
	}
	for _, path := range []string{staging, v.layout.publishedDevices(name), dir} { // the record last
		if err := os.RemoveAll(path); err != nil {
			return err
		}
	}
	v.dropped(k)
	return nil
}

// Stats asks the driver of a pod's volume how full it is (A-CSI-16); nil: the pod has no such volume yet, or the driver does not say. It is neither held
// up by other calls for the volume, nor does it hold them up.
func (v *Volumes) Stats(ctx context.Context, pod types.UID, name string) (*csi.NodeGetVolumeStatsResponse, error) {
	uses, err := v.layout.usesOf(pod)
	for _, u := range uses {
		if u.record[keyName] == name {
			return v.stats(ctx, u)
		}
	}
	return nil, err
}

func (v *Volumes) stats(ctx context.Context, u use) (*csi.NodeGetVolumeStatsResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, DriverTimeout)
	defer cancel()
	driver, err := v.config.Drivers.Driver(u.driver())
	if err != nil {
		return nil, err
	}
	can, err := driver.Capabilities(ctx)
	if err != nil || !can.VolumeStats {
		return nil, err
	}
	return driver.node().NodeGetVolumeStats(ctx, &csi.NodeGetVolumeStatsRequest{VolumeId: u.handle(), VolumePath: v.layout.published(u)})
}
