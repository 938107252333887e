// Package detach lets the program that containerd starts a shim with be that shim.
//
// Upstream's executes itself once more and ends, so that two starts of a large Go program lie between
// a sandbox and its first process. Here the process is doubled before Go begins: one
// waits, in C, for what is to be answered; the other answers, and is the shim from then on ([Start]).
//
// What is not as usual (logs of debugging, a cgroup for the shim, core scheduling, a shim that is shared by
// another annotation than the sandbox's) is upstream's to do, as is everything without cgo.
package detach
