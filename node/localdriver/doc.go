// Package localdriver is the CSI driver local.csi.lifepod.dev: volumes on the disk of one
// node. It serves all three services of CSI for that node, like a driver that is deployed per
// node, so its volumes are handled like those of any driver.
//
// A volume is an image file with an ext4, which the kernel's loop driver mounts, or which a
// pod has as a raw block device. It has the claimed size; a pod that writes more
// gets ENOSPC. The file is sparse: it takes up what is written to it, and gives back what is
// deleted. A volume is only made, or grows, if the file system has room for all that was
// promised to volumes and not written yet; but others that write to that disk are not kept
// from taking this room, and a volume that finds none left fails its writes with EIO.
//
// Snapshots and clones share blocks with their source where the file system can (reflinks of
// XFS and Btrfs), and are copies otherwise. The source's file system is frozen meanwhile, so
// that they are consistent.
//
// Image and record of a volume are in one folder, which gets its name when it is complete and
// loses it before it is deleted: a driver that is killed leaves nothing half. What is mounted
// is asked of the kernel, never remembered.
package localdriver
