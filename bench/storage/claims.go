package storage

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"github.com/lifepod/lifepod/bench/bare"
	"github.com/lifepod/lifepod/bench/testbed"
)

const (
	// bytes is the size of a volume.
	bytes = 16 << 20
	// mountPath is where containers have it.
	mountPath = "/data"
)

// CreateObject makes the CSIDriver: nobody attaches its volumes.
func CreateObject(ctx context.Context, api kubernetes.Interface) error {
	_, err := api.StorageV1().CSIDrivers().Create(ctx, &storagev1.CSIDriver{
		ObjectMeta: metav1.ObjectMeta{Name: Name}, Spec: storagev1.CSIDriverSpec{AttachRequired: new(false)},
	}, metav1.CreateOptions{})
	return err
}

func capability() *csi.VolumeCapability {
	return &csi.VolumeCapability{
		AccessType: &csi.VolumeCapability_Mount{Mount: &csi.VolumeCapability_MountVolume{FsType: "ext4"}},
		AccessMode: &csi.VolumeCapability_AccessMode{Mode: csi.VolumeCapability_AccessMode_SINGLE_NODE_WRITER},
	}
}

// volume makes a volume with a file system, and returns its handle.
func (d *Driver) volume(ctx context.Context, name string) (string, error) {
	made, err := d.local.CreateVolume(ctx, &csi.CreateVolumeRequest{
		Name: name, CapacityRange: &csi.CapacityRange{RequiredBytes: bytes}, VolumeCapabilities: []*csi.VolumeCapability{capability()},
	})
	return made.GetVolume().GetVolumeId(), err
}

// Claim gives each pod a volume of its own, by a claim of the pod's name, and waits until all claims
// are bound. Release takes them back.
func (d *Driver) Claim(ctx context.Context, api kubernetes.Interface, pods []*v1.Pod) error {
	for _, pod := range pods {
		handle, err := d.volume(ctx, pod.Name)
		if err != nil {
			return err
		}
		if err := createClaim(ctx, api, pod.Name, handle); err != nil {
			return err
		}
		pod.Spec.Volumes = append(pod.Spec.Volumes, v1.Volume{Name: "data", VolumeSource: v1.VolumeSource{
			PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: pod.Name},
		}})
		main := &pod.Spec.Containers[0]
		main.VolumeMounts = append(main.VolumeMounts, v1.VolumeMount{Name: "data", MountPath: mountPath})
	}
	bound := 0
	err := wait.PollUntilContextTimeout(ctx, 200*time.Millisecond, testbed.Patience, true, func(ctx context.Context) (bool, error) {
		claims, err := api.CoreV1().PersistentVolumeClaims(testbed.Namespace).List(ctx, metav1.ListOptions{})
		bound = 0
		for _, claim := range claims.Items {
			if claim.Status.Phase == v1.ClaimBound {
				bound++
			}
		}
		return bound == len(pods), err
	})
	if err != nil {
		return fmt.Errorf("%d of %d claims are bound: %w", bound, len(pods), err)
	}
	return nil
}

func createClaim(ctx context.Context, api kubernetes.Interface, name, handle string) error {
	size, modes := resource.NewQuantity(bytes, resource.BinarySI), []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}
	_, volumeErr := api.CoreV1().PersistentVolumes().Create(ctx, &v1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1.PersistentVolumeSpec{
			AccessModes: modes, Capacity: v1.ResourceList{v1.ResourceStorage: *size}, PersistentVolumeReclaimPolicy: v1.PersistentVolumeReclaimRetain,
			ClaimRef:               &v1.ObjectReference{Namespace: testbed.Namespace, Name: name},
			PersistentVolumeSource: v1.PersistentVolumeSource{CSI: &v1.CSIPersistentVolumeSource{Driver: Name, VolumeHandle: handle, FSType: "ext4"}},
		},
	}, metav1.CreateOptions{})
	_, claimErr := api.CoreV1().PersistentVolumeClaims(testbed.Namespace).Create(ctx, &v1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1.PersistentVolumeClaimSpec{
			AccessModes: modes, VolumeName: name, StorageClassName: new(""),
			Resources: v1.VolumeResourceRequirements{Requests: v1.ResourceList{v1.ResourceStorage: *size}},
		},
	}, metav1.CreateOptions{})
	return errors.Join(volumeErr, claimErr)
}

// Release deletes claims and volumes of pods that have gone.
func (d *Driver) Release(ctx context.Context, api kubernetes.Interface, pods []*v1.Pod) error {
	return bare.Together(len(pods), func(i int) error {
		name := pods[i].Name
		claim := api.CoreV1().PersistentVolumeClaims(testbed.Namespace).Delete(ctx, name, metav1.DeleteOptions{})
		object, err := api.CoreV1().PersistentVolumes().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return errors.Join(claim, err)
		}
		return errors.Join(claim, d.remove(ctx, object.Spec.CSI.VolumeHandle), api.CoreV1().PersistentVolumes().Delete(ctx, name, metav1.DeleteOptions{}))
	})
}

// remove deletes a volume, as soon as the kernel has let go of the mounts of containers that have
// ended: until then it is in use.
func (d *Driver) remove(ctx context.Context, handle string) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, testbed.Patience, true, func(ctx context.Context) (bool, error) {
		_, last = d.local.DeleteVolume(ctx, &csi.DeleteVolumeRequest{VolumeId: handle})
		return last == nil, nil
	})
	return errors.Join(err, last)
}
