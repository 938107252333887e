package localvolume

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
	v1 "k8s.io/api/core/v1"

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

// makeFolder makes the folder of a volume; one that is there, from a try that was
// interrupted, is as good. Any user of a container may write in it, as long as the
// pod does not say otherwise (fsGroup); on the machine only root reaches it.
func makeFolder(dir, name string) (path string, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	path = filepath.Join(dir, name)
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	return path, os.Chmod(path, 0o777)
}

// deleteFolder deletes the folder of a volume that was made here.
func deleteFolder(dir string, volume *v1.PersistentVolume) error {
	path := filepath.Join(dir, folderName(volume.Spec.ClaimRef))
	if volume.Spec.Local == nil || volume.Spec.Local.Path != path || volume.Name != volumeName(volume.Spec.ClaimRef) {
		return fmt.Errorf("volume %q is not one that was made in %s for its claim: its folder is left alone; delete it yourself, and the finalizer %s", volume.Name, dir, finalizer)
	}
	return volumes.Delete(path)
}

// Free says how many bytes may be written yet below dir, which need not exist, and
// how large its file system is.
func Free(dir string) (free, size int64, err error) {
	var stat unix.Statfs_t
	for err = unix.Statfs(dir, &stat); errors.Is(err, unix.ENOENT) && dir != filepath.Dir(dir); err = unix.Statfs(dir, &stat) {
		dir = filepath.Dir(dir)
	}
	if err != nil {
		return 0, 0, fmt.Errorf("free space at %s: %w", dir, err)
	}
	return int64(stat.Bavail) * stat.Bsize, int64(stat.Blocks) * stat.Bsize, nil
}
