package csi

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/utils/ptr"

	"github.com/lifepod/lifepod/worker/volumes"
)

// volume is one that a pod asks for.
type volume struct {
	pod    *v1.Pod
	driver string
	handle string
	// name is that of the PersistentVolume, or of the volume in the pod.
	name       string
	inPod      string // the volume's name in the pod
	inline     bool
	device     bool
	readOnly   bool
	fsType     string
	attributes map[string]string
	modes      []v1.PersistentVolumeAccessMode
	options    []string // of the mount

	claim *v1.ObjectReference // that the PersistentVolume is bound to

	secrets secrets
}

// secrets are those that the driver is given with its calls.
type secrets struct{ stage, publish, expand *v1.SecretReference }

func volumeOf(r volumes.CSIRequest) volume {
	if r.Inline != nil {
		return inlineOf(r)
	}
	spec, csi := &r.Bound.Spec, r.Bound.Spec.CSI
	return volume{
		pod: r.Pod, driver: csi.Driver, handle: csi.VolumeHandle, name: r.Bound.Name, inPod: r.Volume,
		device: ptr.Deref(spec.VolumeMode, v1.PersistentVolumeFilesystem) == v1.PersistentVolumeBlock, readOnly: r.ReadOnly,
		fsType: csi.FSType, attributes: csi.VolumeAttributes, modes: spec.AccessModes, options: spec.MountOptions,
		secrets: secrets{csi.NodeStageSecretRef, csi.NodePublishSecretRef, csi.NodeExpandSecretRef}, claim: spec.ClaimRef,
	}
}

// inlineOf is a volume that has no PersistentVolume; its handle is made of the pod's UID
// (A-CSI-9).
func inlineOf(r volumes.CSIRequest) volume {
	source := r.Inline.CSI
	v := volume{
		pod: r.Pod, driver: source.Driver, name: r.Inline.Name, inPod: r.Inline.Name, inline: true, readOnly: r.ReadOnly,
		handle: fmt.Sprintf("csi-%x", sha256.Sum256([]byte(string(r.Pod.UID)+r.Inline.Name))),
		fsType: ptr.Deref(source.FSType, ""), attributes: source.VolumeAttributes,
	}
	if source.NodePublishSecretRef != nil {
		v.secrets.publish = &v1.SecretReference{Namespace: r.Pod.Namespace, Name: source.NodePublishSecretRef.Name}
	}
	return v
}

func (v volume) key() key { return key{v.driver, v.handle} }

func (v volume) podVolume() podVolume { return podVolume{v.pod.UID, v.name} }

// lifecycleMode is how the volume lives, as CSIDrivers name it.
func (v volume) lifecycleMode() storagev1.VolumeLifecycleMode {
	if v.inline {
		return storagev1.VolumeLifecycleEphemeral
	}
	return storagev1.VolumeLifecyclePersistent
}

// accessMode is the first of the volume's.
func (v volume) accessMode() v1.PersistentVolumeAccessMode {
	if len(v.modes) == 0 {
		return v1.ReadWriteOnce
	}
	return v.modes[0]
}

// failed says at which step the volume could not be had, with the words of Kubernetes, unless the
// error says it.
func (v volume) failed(step string, err error) error {
	if _, has := errors.AsType[*volumes.MountError](err); has || err == nil {
		return err
	}
	if _, has := errors.AsType[*volumes.ClaimError](err); has {
		return err
	}
	if _, exceeds := errors.AsType[*volumes.LimitError](err); exceeds {
		return err
	}
	return &volumes.MountError{Volume: v.name, Step: step, Err: err}
}

// attachStep is at which the volume is waited for.
func (v volume) attachStep() string {
	if v.device {
		return "MapVolume.WaitForAttach failed"
	}
	return "MountVolume.WaitForAttach failed"
}

// mountStep and setUpStep are the two steps at which a driver is called.
func (v volume) mountStep() string {
	if v.device {
		return "MapVolume.SetUpDevice failed"
	}
	return "MountVolume.MountDevice failed"
}

func (v volume) setUpStep() string {
	if v.device {
		return "MapVolume.MapPodDevice failed"
	}
	return "MountVolume.SetUp failed"
}

func (v volume) expandStep() string {
	if v.device {
		return "MapVolume.MarkVolumeAsMounted failed while expanding volume"
	}
	return "MountVolume.Setup failed while expanding volume"
}

func (v volume) podReference() v1.ObjectReference {
	return v1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: v.pod.Namespace, Name: v.pod.Name, UID: v.pod.UID}
}

// ownable says whether the pod's fsGroup gets the files, by the driver's policy (A-CSI-10).
func (v volume) ownable(policy storagev1.FSGroupPolicy) bool {
	switch {
	case v.device, v.readOnly, policy == storagev1.NoneFSGroupPolicy:
		return false
	case policy == storagev1.FileFSGroupPolicy:
		return true
	case v.fsType == "":
		return false
	}
	if v.inline {
		return true
	}
	return slices.Contains(v.modes, v1.ReadWriteOnce) || slices.Contains(v.modes, v1.ReadWriteOncePod)
}
