package volumes

import (
	"errors"
	"path/filepath"

	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// claim makes the folder of a persistentVolumeClaim, which all pods that name it
// share and which outlives them. One that is there is taken as it is, a link to
// a folder elsewhere too.
func (p preparer) claim(source *v1.PersistentVolumeClaimVolumeSource) (mounted, error) {
	if p.sources.ClaimsDir == "" {
		return mounted{}, errors.New("there is no folder for persistentVolumeClaims")
	}
	dir := filepath.Join(p.sources.ClaimsDir, p.pod.Namespace, source.ClaimName)
	if err := newDiskDir(dir, nil); err != nil {
		return mounted{}, err
	}
	if source.ReadOnly || p.keepsOwners(dir) {
		return mounted{path: dir, readOnly: source.ReadOnly}, nil
	}
	return mounted{path: dir}, own(dir, p.fsGroup(), false)
}

// keepsOwners says that fsGroupChangePolicy OnRootMismatch spares the walk
// through a volume whose top is the group's already.
func (p preparer) keepsOwners(dir string) bool {
	group := p.fsGroup()
	if group == nil || ptr.Deref(p.pod.Spec.SecurityContext.FSGroupChangePolicy, v1.FSGroupChangeAlways) != v1.FSGroupChangeOnRootMismatch {
		return false
	}
	return ownedBy(dir, *group)
}
