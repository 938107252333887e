package devices

import (
	"fmt"
	"maps"
	"os"
	"slices"

	"google.golang.org/protobuf/proto"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	api "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"github.com/lifepod/lifepod/node/devices/checkpoint"
	"github.com/lifepod/lifepod/roster/numa"
)

// restore reads the checkpoint. A damaged one is put aside: pods that run go on, and what they
// have is not known any more (B-RST-18).
func (d *Devices) restore() {
	content, err := checkpoint.Read(d.path())
	switch {
	case os.IsNotExist(err):
		return
	case err != nil:
		aside := d.path() + ".damaged"
		d.Config.Log.Error("which containers have which devices can't be read: pods go on, devices that they have may be given away again",
			"err", err, "kept as", aside, "rename", os.Rename(d.path(), aside))
		return
	}
	for _, entry := range content.PodDeviceEntries {
		given := &api.ContainerAllocateResponse{}
		if err := proto.Unmarshal(entry.AllocResp, given); err != nil {
			d.Config.Log.Warn("can't read what a device plugin has answered", "pod", entry.PodUID, "container", entry.ContainerName, "resource", entry.ResourceName, "err", err)
			continue
		}
		d.assign(types.UID(entry.PodUID), entry.ContainerName, entry.ResourceName, &assignment{near: entry.DeviceIDs, given: given})
	}
	for name := range content.RegisteredDevices {
		d.resources[name] = &registered{devices: numa.DeviceResource{}}
		d.expireLater(name)
	}
}

// assign files what a container gets.
func (d *Devices) assign(uid types.UID, container, name string, a *assignment) {
	if d.pods[uid] == nil {
		d.pods[uid] = containers{}
	}
	if d.pods[uid][container] == nil {
		d.pods[uid][container] = map[string]*assignment{}
	}
	d.pods[uid][container][name] = a
}

// save writes the checkpoint.
func (d *Devices) save() error {
	d.saving.Lock()
	defer d.saving.Unlock()
	content, err := d.content()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(d.Config.Dir, 0o750); err != nil {
		return fmt.Errorf("folder of device plugins: %w", err)
	}
	if err := checkpoint.Write(d.path(), content); err != nil {
		return fmt.Errorf("failed to write checkpoint file %q: %w", checkpoint.File, err)
	}
	return nil
}

// content is what the checkpoint is to say. What no plugin has given yet is not in it.
func (d *Devices) content() (checkpoint.Content, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := checkpoint.Content{RegisteredDevices: map[string][]string{}}
	for name, r := range d.resources {
		c.RegisteredDevices[name] = sets.List(r.devices.Healthy())
	}
	for _, uid := range slices.Sorted(maps.Keys(d.pods)) {
		for _, container := range slices.Sorted(maps.Keys(d.pods[uid])) {
			has := d.pods[uid][container]
			for _, name := range slices.Sorted(maps.Keys(has)) {
				if has[name].given == nil {
					continue
				}
				answer, err := proto.MarshalOptions{Deterministic: true}.Marshal(has[name].given)
				if err != nil {
					return c, fmt.Errorf("write down what the plugin of %s has answered: %w", name, err)
				}
				c.PodDeviceEntries = append(c.PodDeviceEntries, checkpoint.PodDevicesEntry{
					PodUID: string(uid), ContainerName: container, ResourceName: name, DeviceIDs: maps.Clone(has[name].near), AllocResp: answer,
				})
			}
		}
	}
	return c, nil
}
