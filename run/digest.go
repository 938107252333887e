package run

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/manifest"
)

// apiObject is any object of a manifest.
type apiObject interface {
	metav1.Object
	DeepCopyObject() runtime.Object
}

// digestOf is the same for two sets of manifests that say the same; the ports of
// -p are part of the pod. A record keeps it instead of the manifests, so that no
// Secret gets to the disk.
func digestOf(set *manifest.Set) (string, error) {
	list := slices.Concat(
		[]apiObject{set.Pod}, objectsIn(set.ConfigMaps), objectsIn(set.Secrets), objectsIn(set.RuntimeClasses), objectsIn(set.Claims),
	)
	hash := sha256.New()
	for _, o := range list {
		same := o.DeepCopyObject().(metav1.Object)
		same.SetUID(types.UID(""))
		same.SetCreationTimestamp(metav1.Time{})
		data, err := json.Marshal(same)
		if err != nil {
			return "", fmt.Errorf("compare manifests: %s %s: %w", o.GetNamespace(), o.GetName(), err)
		}
		_, _ = fmt.Fprintf(hash, "%T %d %s", o, len(data), data) // a hash never fails
	}
	return fmt.Sprintf("%x", hash.Sum(nil)), nil
}

func objectsIn[T apiObject](list []T) []apiObject {
	var objects []apiObject
	for _, o := range list {
		objects = append(objects, o)
	}
	return objects
}
