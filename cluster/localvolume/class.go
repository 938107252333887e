package localvolume

import (
	"context"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/lifepod/lifepod/node/localdriver"
)

// ClassName is the default StorageClass.
const ClassName = "local"

// Folders is the provisioner of classes of lifepods that had no driver: volumes were folders
// then. A claim of such a class gets a volume of the driver.
const Folders = "lifepod.dev/local"

// isDefault marks a class for claims that name none.
const isDefault = "storageclass.kubernetes.io/is-default-class"

// ours says whether a provisioner is one whose claims this package serves.
func ours(provisioner string) bool {
	return provisioner == localdriver.Name || provisioner == Folders
}

func class() *storagev1.StorageClass {
	return &storagev1.StorageClass{
		ObjectMeta:           metav1.ObjectMeta{Name: ClassName, Annotations: map[string]string{isDefault: "true"}},
		Provisioner:          localdriver.Name,
		VolumeBindingMode:    new(storagev1.VolumeBindingWaitForFirstConsumer),
		ReclaimPolicy:        new(v1.PersistentVolumeReclaimDelete),
		AllowVolumeExpansion: new(true),
	}
}

func driver() *storagev1.CSIDriver {
	return &storagev1.CSIDriver{
		ObjectMeta: metav1.ObjectMeta{Name: localdriver.Name},
		Spec: storagev1.CSIDriverSpec{
			AttachRequired:       new(false),
			PodInfoOnMount:       new(false),
			StorageCapacity:      new(true),
			FSGroupPolicy:        new(storagev1.FileFSGroupPolicy),
			VolumeLifecycleModes: []storagev1.VolumeLifecycleMode{storagev1.VolumeLifecyclePersistent},
		},
	}
}

// ensureObjects makes the default class and the driver's CSIDriver, unless they are there:
// what people have changed about them stays as they want it.
func ensureObjects(ctx context.Context, client kubernetes.Interface) error {
	_, err := client.StorageV1().CSIDrivers().Create(ctx, driver(), metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("make CSIDriver %q: %w", localdriver.Name, err)
	}
	_, err = client.StorageV1().StorageClasses().Create(ctx, class(), metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		err = replaceClass(ctx, client)
	}
	if err != nil {
		return fmt.Errorf("make StorageClass %q: %w", ClassName, err)
	}
	return nil
}

// replaceClass replaces the class of a lifepod without the driver: a class can't change its
// provisioner. Claims and volumes have its name only, and stay.
func replaceClass(ctx context.Context, client kubernetes.Interface) error {
	classes := client.StorageV1().StorageClasses()
	found, err := classes.Get(ctx, ClassName, metav1.GetOptions{})
	if err != nil || found.Provisioner != Folders {
		return err
	}
	made := class()
	made.Labels, made.Annotations = found.Labels, found.Annotations
	made.ReclaimPolicy, made.VolumeBindingMode, made.MountOptions = found.ReclaimPolicy, found.VolumeBindingMode, found.MountOptions
	err = classes.Delete(ctx, ClassName, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &found.UID}})
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	_, err = classes.Create(ctx, made, metav1.CreateOptions{})
	return err
}

func hasDriver(n *storagev1.CSINode) bool {
	return slices.ContainsFunc(n.Spec.Drivers, func(d storagev1.CSINodeDriver) bool { return d.Name == localdriver.Name })
}

// allows says whether a class lets its volumes be on a node.
func allows(class *storagev1.StorageClass, node *v1.Node) bool {
	if len(class.AllowedTopologies) == 0 {
		return true
	}
	return slices.ContainsFunc(class.AllowedTopologies, func(term v1.TopologySelectorTerm) bool {
		return !slices.ContainsFunc(term.MatchLabelExpressions, func(e v1.TopologySelectorLabelRequirement) bool {
			return !slices.Contains(e.Values, node.Labels[e.Key])
		})
	})
}
