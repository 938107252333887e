// Package collect frees the disk of a node: it removes images that nothing uses, and
// has what is left of dead containers and of pods that are gone removed (B-GC).
//
// Which image goes next is decided by Policy.Choose, a pure function of what is known
// about the images, the time and the disk. A Collector lists the images, asks the
// runtime and the roster what uses them, measures the disk, and removes. Claims keep an
// image that a pod is about to use from being removed between the pod's look at it and
// the creation of its container.
//
// Whose dead containers may go is decided by package lifecycle.
package collect
