// Package filecopy copies files and folders between the tree of a container that runs and this machine. No program of the container
// takes part in it, so that its image needs none.
//
// This process is root, and whoever runs the container decides what its tree looks like, also while it is copied. So paths in the tree are
// resolved by the kernel, in the container's root (openat2); below them, here as there, no link is followed; and nothing is opened but
// what is a folder or a plain file: a device or a FIFO could do anything, or wait for ever.
package filecopy
