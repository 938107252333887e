// Package container carries out runc's commands in the shim's own process, with runc's own
// library: of two or three programs that a container's start or an exec took, only the one
// that becomes the container's process is executed.
//
// It takes the place of those who execute runc for containerd's task service ([Monitor]). What
// a command is to do is in its arguments, as ever, and what it says and how it ends is what
// runc would have said: the service can't tell the difference. On disk the containers are
// runc's, whose own program lists and cleans up what a shim has left.
//
// The program of runc is executed for all else: another handler's runtime, checkpoints, changes of
// resources, containers with hooks, and whatever this package does not understand.
//
// The container's process begins as the shim's own program, see package initprocess.
package container
