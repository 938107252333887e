// Package client finds the pods that the lifepods of this machine run, talks to them, and words them for the
// terminal, for the commands of another terminal (see package control).
//
// describe.go and row.go word a pod: the row that kubectl get pods -o wide has for it, and a short description.
//
// tree.go and copy.go copy files and folders between the tree of a container that runs and this machine. No
// program of the container takes part in it, so that its image needs none.
//
// This process is root, and whoever runs the container decides what its tree looks like, also while it is
// copied. So paths in the tree are resolved by the kernel, in the container's root (openat2); below them, here
// as there, no link is followed; and nothing is opened but what is a folder or a plain file: a device or a FIFO
// could do anything, or wait for ever.
package client
