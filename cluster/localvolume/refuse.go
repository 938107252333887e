package localvolume

import (
	"errors"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// unsupported says what of a claim or its class a local folder can't do, nil if it
// can do everything.
func unsupported(claim *v1.PersistentVolumeClaim, class *storagev1.StorageClass) error {
	spec := &claim.Spec
	oneNode := func(m v1.PersistentVolumeAccessMode) bool {
		return m == v1.ReadWriteOnce || m == v1.ReadWriteOncePod
	}
	switch {
	case spec.VolumeMode != nil && *spec.VolumeMode != v1.PersistentVolumeFilesystem:
		return fmt.Errorf("volumeMode %s is not supported: a local folder is no block device; use Filesystem", *spec.VolumeMode)
	case !slices.ContainsFunc(spec.AccessModes, func(m v1.PersistentVolumeAccessMode) bool { return !oneNode(m) }):
	default:
		return fmt.Errorf("accessModes %v are not supported: a local folder is on one node; use ReadWriteOnce (for any number of pods of that node) or ReadWriteOncePod", spec.AccessModes)
	}
	switch {
	case spec.Selector != nil:
		return errors.New("a selector is not supported: it chooses among volumes that exist; leave it out to get a new one")
	case spec.DataSource != nil || spec.DataSourceRef != nil:
		return errors.New("dataSource and dataSourceRef are not supported: a new folder is empty")
	case spec.VolumeAttributesClassName != nil && *spec.VolumeAttributesClassName != "":
		return errors.New("volumeAttributesClassName is not supported: a local folder has no attributes")
	}
	for name := range class.Parameters {
		return fmt.Errorf("the StorageClass has the parameter %q: %s has none", name, Provisioner)
	}
	return nil
}

// tooLarge says that a claim wants more than is free.
func tooLarge(claim *v1.PersistentVolumeClaim, dir string) error {
	free, _, err := Free(dir)
	if err != nil {
		return err
	}
	if want := claim.Spec.Resources.Requests[v1.ResourceStorage]; want.CmpInt64(free) > 0 {
		return fmt.Errorf("%s are claimed, but the file system of %s has only %s free", want.String(), dir, shown(free))
	}
	return nil
}

// shown is a number of bytes, rounded down, so that it does not change at each try.
func shown(bytes int64) string {
	unit := int64(1 << 20)
	if bytes >= 10<<30 {
		unit = 1 << 30
	}
	return resource.NewQuantity(bytes/unit*unit, resource.BinarySI).String()
}
