// Package deleted spares a clean-up of what has been deleted.
//
// When a shim has deleted a container or a sandbox, containerd executes the shim's program
// once more in the bundle, with the argument "delete", to clean up what may be left. Who
// waits for the container's exit waits for that, too: the start of a large Go program that finds nothing
// to do. So the shim leaves its answer in the bundle ([Leave]), and that program repeats it
// before Go begins. Where none was left, because the shim has died, Go begins and cleans up.
//
// Without cgo it always does.
package deleted
