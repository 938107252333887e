package doctor

import (
	"fmt"
	"path/filepath"
	"strings"

	units "github.com/docker/go-units"
	"golang.org/x/sys/unix"
)

// withoutOverlay is what the bundled runtime's other snapshotter means.
const withoutOverlay = "every container gets a copy of its image's files, which takes time and disk space: "

func checkOverlay(h Host) Result {
	const name = "overlayfs"
	for line := range strings.Lines(h.read("/proc/filesystems")) {
		if strings.HasSuffix(strings.TrimSpace(line), "overlay") {
			return ok(name, "in the kernel")
		}
	}
	if h.hasModule("overlay") {
		return ok(name, "a module that is loaded when needed")
	}
	return warn(name, "the kernel doesn't have it", withoutOverlay+"modprobe overlay, or use a kernel with CONFIG_OVERLAY_FS")
}

// unfit are file systems on which an overlay can't keep its upper layer.
var unfit = map[int64]string{
	unix.OVERLAYFS_SUPER_MAGIC: "overlay",
	unix.NFS_SUPER_MAGIC:       "NFS",
	unix.SMB_SUPER_MAGIC:       "SMB",
	unix.CIFS_SUPER_MAGIC:      "CIFS",
	unix.SMB2_SUPER_MAGIC:      "SMB",
	unix.V9FS_MAGIC:            "9p",
	unix.MSDOS_SUPER_MAGIC:     "FAT",
	unix.EXFAT_SUPER_MAGIC:     "exFAT",
	unix.ECRYPTFS_SUPER_MAGIC:  "eCryptfs",
}

// checkStateFolder tries what the folder's file system can do: its kind alone
// doesn't tell, think of XFS without ftype.
func checkStateFolder(h Host, root string) Result {
	const name = "state folder"
	folder := h.existing(root)
	fileSystem, err := h.FileSystem(folder)
	if err != nil {
		return notChecked(name, folder+": "+err.Error())
	}
	const advice = withoutOverlay + "point --root at a folder on a local ext4, XFS or btrfs file system"
	if kind, bad := unfit[fileSystem.Type]; bad {
		return warn(name, fmt.Sprintf("%s is on %s, which can't hold overlays", root, kind), advice)
	}
	if !h.IsRoot() {
		return notChecked(name, root+": "+needsRoot)
	}
	if err := h.TryOverlay(folder); err != nil {
		return warn(name, fmt.Sprintf("%s can't hold overlays: %v", root, err), advice)
	}
	return ok(name, root+" can hold overlays")
}

// existing is the folder itself, or the nearest one above it that exists.
func (h Host) existing(folder string) string {
	for folder != "/" && !h.exists(folder) {
		folder = filepath.Dir(folder)
	}
	return folder
}

// The limits below which Kubernetes' default eviction thresholds lie are shares;
// the absolute one is what unpacking the runtime and an image takes.
const (
	leastDiskBytes   = 1 << 30
	scarceDiskShare  = 10
	scarceInodeShare = 5
)

func checkDisk(h Host, root string) Result {
	const name = "disk space"
	fileSystem, err := h.FileSystem(h.existing(root))
	if err != nil || fileSystem.SizeBytes == 0 {
		return notChecked(name, fmt.Sprintf("%s: %v", root, err))
	}
	diskShare := fileSystem.FreeBytes * 100 / fileSystem.SizeBytes
	found := fmt.Sprintf("%s free below %s (%d%%)", units.BytesSize(float64(fileSystem.FreeBytes)), root, diskShare)
	inodeShare := uint64(100)
	if fileSystem.Inodes > 0 {
		inodeShare = fileSystem.FreeInodes * 100 / fileSystem.Inodes
		found += fmt.Sprintf(", %d%% of the inodes", inodeShare)
	}
	const advice = "free some, or point --root at a larger disk; lifepod image rm removes images"
	switch {
	case fileSystem.FreeBytes < leastDiskBytes || inodeShare == 0:
		return fail(name, found, advice)
	case diskShare < scarceDiskShare || inodeShare < scarceInodeShare:
		return warn(name, found, advice)
	default:
		return ok(name, found)
	}
}
