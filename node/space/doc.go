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
// Package lifecycle decides which dead containers may be removed.
//
// pressure.go measures what a node may run short of (memory, disks, process IDs), and
// gives back what pods don't need when the roster wants it. The roster decides
// what to do about a shortage (packages roster and roster/pressure).
//
// Memory is measured when the kernel reports a shortage: a threshold is crossed (cgroup v1),
// tasks wait for memory (PSI), or a limit is hit (v2). No kernel reports all of these, and none
// reports disks and process IDs. So everything is also measured after a pause, which gets
// shorter as a threshold gets nearer.
//
// kernel.go tells of processes that the kernel kills because the whole machine is
// out of memory, as the kernel's log has them (B-OOM-2).
package space
