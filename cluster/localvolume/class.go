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
	"k8s.io/client-go/util/retry"
)

// ClassName is the default StorageClass; Provisioner is the provisioner of that and
// of other classes that people make for these folders, such as one with the
// reclaimPolicy Retain.
const (
	ClassName   = "local"
	Provisioner = "lifepod.dev/local"
)

// isDefault marks a class for claims that name none.
const isDefault = "storageclass.kubernetes.io/is-default-class"

// class is the default class on the node of a host name.
func class(hostname string) *storagev1.StorageClass {
	mode, reclaim, expansion := storagev1.VolumeBindingWaitForFirstConsumer, v1.PersistentVolumeReclaimDelete, false
	return &storagev1.StorageClass{
		ObjectMeta:           metav1.ObjectMeta{Name: ClassName, Annotations: map[string]string{isDefault: "true"}},
		Provisioner:          Provisioner,
		VolumeBindingMode:    &mode,
		ReclaimPolicy:        &reclaim,
		AllowVolumeExpansion: &expansion,
		AllowedTopologies: []v1.TopologySelectorTerm{{
			MatchLabelExpressions: []v1.TopologySelectorLabelRequirement{{Key: v1.LabelHostname, Values: []string{hostname}}},
		}},
	}
}

// ensureClass makes the default class, or adds the node to it. What people have
// changed about it stays as they want it.
func ensureClass(ctx context.Context, client kubernetes.Interface, hostname string) error {
	classes := client.StorageV1().StorageClasses()
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		_, err := classes.Create(ctx, class(hostname), metav1.CreateOptions{})
		if !apierrors.IsAlreadyExists(err) {
			return err
		}
		found, err := classes.Get(ctx, ClassName, metav1.GetOptions{})
		if err != nil || !addTopology(found, hostname) {
			return err
		}
		_, err = classes.Update(ctx, found, metav1.UpdateOptions{})
		return err
	})
	if err != nil {
		return fmt.Errorf("make StorageClass %q: %w", ClassName, err)
	}
	return nil
}

// addTopology adds a node to those of the class, if it is ours and has a list.
func addTopology(c *storagev1.StorageClass, hostname string) (changed bool) {
	if c.Provisioner != Provisioner || len(c.AllowedTopologies) == 0 || serves(c, hostname) {
		return false
	}
	for i := range c.AllowedTopologies {
		for j := range c.AllowedTopologies[i].MatchLabelExpressions {
			e := &c.AllowedTopologies[i].MatchLabelExpressions[j]
			if e.Key == v1.LabelHostname {
				e.Values = append(e.Values, hostname)
				return true
			}
		}
	}
	return false
}

// serves says whether the class names a node as one with folders.
func serves(c *storagev1.StorageClass, hostname string) bool {
	for _, term := range c.AllowedTopologies {
		for _, e := range term.MatchLabelExpressions {
			if e.Key == v1.LabelHostname && slices.Contains(e.Values, hostname) {
				return true
			}
		}
	}
	return false
}
