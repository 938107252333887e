// Package space keeps a node from running short of disk, memory and process IDs.
//
// images.go frees the disk of a node: it removes images that nothing uses, and
// has what is left of dead containers and of pods that are gone removed (B-GC).
//
// Which image goes next is decided by Policy.Choose, a pure function of what is known
// about the images, the time and the disk. A Collector lists the images, asks the
// runtime and the roster what uses them, measures the disk, and removes. Claims keep an
// image that a pod is about to use from being removed between the pod's look at it and
// the creation of its container.
//
// Whose dead containers may go is decided by package lifecycle.
//
// relief.go measures what a node may run short of (memory, disks, process IDs), and
// gives back what pods don't need when the roster wants it. What is to be done about a
// shortage the roster decides (packages roster and roster/pressure).
//
// Memory is measured when the kernel says that it gets short: at the crossing of a
// threshold (cgroup v1), when tasks wait for it (PSI), when a limit is hit (v2). Because no
// kernel tells of all that, and none of disks and process IDs, all are measured
// again after a pause that is the shorter the nearer the next threshold is.
//
// systemoom.go tells of processes that the kernel kills because the whole machine is
// out of memory, as the kernel's log has them (B-OOM-2).
package space
