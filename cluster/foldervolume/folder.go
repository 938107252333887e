package foldervolume

import (
	"fmt"
	"path/filepath"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/cluster/reclaim"
	"github.com/lifepod/lifepod/worker/volumes"
)

// maxName is how long the name of a file may be, in bytes.
const maxName = 255

// volumeName is that of the claim's volume, the same at each try.
func volumeName(claim *v1.ObjectReference) string { return "pvc-" + string(claim.UID) }

// folderName is that of the claim's folder. People read it; only the UID counts.
func folderName(claim *v1.ObjectReference) string {
	name := volumeName(claim) + "_" + claim.Namespace + "_" + claim.Name
	return name[:min(len(name), maxName)]
}

func deleteFolder(dir string, volume *v1.PersistentVolume) error {
	path := filepath.Join(dir, folderName(volume.Spec.ClaimRef))
	if volume.Spec.Local == nil || volume.Spec.Local.Path != path || volume.Name != volumeName(volume.Spec.ClaimRef) {
		return fmt.Errorf("volume %q is not one that was made in %s for its claim: its folder is left alone; delete it yourself, and the finalizer %s", volume.Name, dir, reclaim.Finalizer)
	}
	return volumes.Delete(path)
}
