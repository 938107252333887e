package objects

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	csitranslation "k8s.io/csi-translation-lib"
	"k8s.io/klog/v2"
)

// Migrated is the CSI volume that serves a volume of a type that Kubernetes has handed over to CSI
// drivers, such as awsElasticBlockStore (A-CSI-14); nil: it is not of such a type.
func (o *Objects) Migrated(pod *v1.Pod, volume *v1.Volume) (*v1.PersistentVolume, error) {
	translator := csitranslation.New()
	if !translator.IsInlineMigratable(volume) {
		return nil, nil
	}
	bound, err := translator.TranslateInTreeInlineVolumeToCSI(klog.Background(), volume, pod.Namespace)
	if err != nil {
		return nil, fmt.Errorf("failed to translate to CSI: %w", err)
	}
	return bound, nil
}

// migrated is the same for a PersistentVolume, which is returned as it is if it is not of such a
// type.
func migrated(bound *v1.PersistentVolume) (*v1.PersistentVolume, error) {
	translator := csitranslation.New()
	if !translator.IsPVMigratable(bound) {
		return bound, nil
	}
	translated, err := translator.TranslateInTreePVToCSI(klog.Background(), bound)
	if err != nil {
		return nil, fmt.Errorf("failed to translate PV %s to CSI: %w", bound.Name, err)
	}
	return translated, nil
}
