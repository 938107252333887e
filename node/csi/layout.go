package csi

import (
	"crypto/sha256"
	"fmt"
	"path/filepath"

	"k8s.io/apimachinery/pkg/types"
	utilstrings "k8s.io/utils/strings"
)

// Where the kubelet has the volumes of CSI drivers (A-CSI-6, A-CSI-8).
const (
	pluginName   = "kubernetes.io/csi"
	pluginFolder = "kubernetes.io~csi"
	recordName   = "vol_data.json"
)

// layout are the folders of a node. Of a volume with a file system:
//
//	<pods>/<uid>/volumes/kubernetes.io~csi/<name>/mount, where it is published
//	<pods>/<uid>/volumes/kubernetes.io~csi/<name>/vol_data.json
//	<plugins>/kubernetes.io/csi/<driver>/<hash of the handle>/globalmount, where it is staged
//	<plugins>/kubernetes.io/csi/<driver>/<hash of the handle>/vol_data.json
//
// and of a device:
//
//	<pods>/<uid>/volumeDevices/kubernetes.io~csi/<name>, a link to where it is published
//	<plugins>/kubernetes.io/csi/volumeDevices/publish/<name>/<uid>
//	<plugins>/kubernetes.io/csi/volumeDevices/staging/<name>
//	<plugins>/kubernetes.io/csi/volumeDevices/<name>/data/vol_data.json
//	<pods>/<uid>/plugins/kubernetes.io~csi/<name>/vol_data.json, which a kubelet does not have
type layout struct{ pods, plugins string }

func (l layout) csi() string { return filepath.Join(l.plugins, pluginName) }

// ofPod has the pod's volumes with a file system.
func (l layout) ofPod(uid types.UID) string {
	return filepath.Join(l.pods, string(uid), "volumes", pluginFolder)
}

// volume has what a pod has of a volume with a file system.
func (l layout) volume(uid types.UID, name string) string {
	return filepath.Join(l.ofPod(uid), utilstrings.EscapeQualifiedName(name))
}

func target(volume string) string { return filepath.Join(volume, "mount") }

// staged has what is staged of a volume with a file system.
func (l layout) staged(driver, handle string) string {
	return filepath.Join(l.csi(), driver, fmt.Sprintf("%x", sha256.Sum256([]byte(handle))))
}

func stagingPath(staged string) string { return filepath.Join(staged, "globalmount") }

const devicesFolder = "volumeDevices"

func (l layout) devices() string { return filepath.Join(l.csi(), devicesFolder) }

// linksOf has a link for each of the pod's devices.
func (l layout) linksOf(uid types.UID) string {
	return filepath.Join(l.pods, string(uid), devicesFolder, pluginFolder)
}

func (l layout) link(uid types.UID, name string) string { return filepath.Join(l.linksOf(uid), name) }

// deviceOf has the record of a device that a pod has; a kubelet has none.
func (l layout) deviceOf(uid types.UID, name string) string {
	return filepath.Join(l.pods, string(uid), "plugins", pluginFolder, name)
}

func (l layout) publishedDevices(name string) string {
	return filepath.Join(l.devices(), "publish", name)
}

func (l layout) publishedDevice(uid types.UID, name string) string {
	return filepath.Join(l.publishedDevices(name), string(uid))
}

func (l layout) stagedDevice(name string) string { return filepath.Join(l.devices(), "staging", name) }

// ofDevice has what is kept of a device, whichever pods use it.
func (l layout) ofDevice(name string) string { return filepath.Join(l.devices(), name) }

func (l layout) deviceData(name string) string { return filepath.Join(l.ofDevice(name), "data") }

// published is where a driver has published what a pod has.
func (l layout) published(u use) string {
	if u.device {
		return l.publishedDevice(u.uid, u.name)
	}
	return target(filepath.Join(l.ofPod(u.uid), u.name))
}

// recordOf has the record of a volume that a pod has.
func (l layout) recordOf(v volume) string {
	if v.device {
		return l.deviceOf(v.pod.UID, v.name)
	}
	return l.volume(v.pod.UID, v.name)
}
