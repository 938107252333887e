package manifest

import (
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kubernetes/pkg/apis/core"
	corev1 "k8s.io/kubernetes/pkg/apis/core/v1"
	"k8s.io/kubernetes/pkg/apis/core/validation"
)

// admitClaim does to a PersistentVolumeClaim what an API server does on create.
func admitClaim(claim *v1.PersistentVolumeClaim) field.ErrorList {
	corev1.SetObjectDefaults_PersistentVolumeClaim(claim)
	return judged(claim, corev1.Convert_v1_PersistentVolumeClaim_To_core_PersistentVolumeClaim, func(internal *core.PersistentVolumeClaim) field.ErrorList {
		return validation.ValidatePersistentVolumeClaim(internal, validation.ValidationOptionsForPersistentVolumeClaimCreate())
	})
}

// checkClaims tells what of the claims a folder on this machine can't do.
func (in *input) checkClaims() {
	for _, d := range in.data {
		if d.claim == nil {
			continue
		}
		spec := &d.claim.Spec
		if spec.VolumeMode != nil && *spec.VolumeMode != v1.PersistentVolumeFilesystem {
			in.errs = append(in.errs, d.object.errorf("spec.volumeMode", "use Filesystem, or leave it out", "%s: lifepod run makes a folder of a claim", *spec.VolumeMode))
		}
		if spec.DataSource != nil || spec.DataSourceRef != nil {
			in.errs = append(in.errs, d.object.errorf("spec", "remove dataSource and dataSourceRef", "there is nothing to copy from: lifepod run makes a folder of a claim"))
		}
		in.warnings = append(in.warnings, d.object.warning("spec", "the claim is a folder on this machine: %s", strings.Join(ignoredOfClaim(spec), ", ")))
	}
}

func ignoredOfClaim(spec *v1.PersistentVolumeClaimSpec) []string {
	ignored := []string{"its size is not enforced"}
	if spec.StorageClassName != nil {
		ignored = append(ignored, "storageClassName is ignored")
	}
	if spec.VolumeName != "" {
		ignored = append(ignored, "volumeName is ignored")
	}
	if spec.Selector != nil {
		ignored = append(ignored, "selector is ignored")
	}
	if spec.VolumeAttributesClassName != nil {
		ignored = append(ignored, "volumeAttributesClassName is ignored")
	}
	return ignored
}

// checkClaimNames warns of claims that a Pod names and that are not among the
// documents: their folder is made all the same.
func (in *input) checkClaimNames() {
	for _, p := range in.pods {
		if !p.copy {
			in.checkClaimNamesOf(p)
		}
	}
}

func (in *input) checkClaimNamesOf(p podInput) {
	o, pod := p.object, p.typed
	for i, v := range pod.Spec.Volumes {
		claim := v.PersistentVolumeClaim
		if claim == nil || p.of.ownClaim(v.Name) || in.find(claimKind, pod.Namespace, claim.ClaimName) != nil {
			continue
		}
		path := field.NewPath("spec", "volumes").Index(i).Child("persistentVolumeClaim", "claimName").String()
		in.warnings = append(in.warnings, o.warning(path, "there is no PersistentVolumeClaim %q among the files: its folder is used, and made if it isn't there", claim.ClaimName))
	}
}
