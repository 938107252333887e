// Package worker is the shell around the pure core: a worker per pod feeds facts
// into a lifecycle.Machine and carries its effects out on a container runtime.
//
// Nothing about a pod's position is decided here. An Engine has what all pods
// share: the runtime, the images, the machine's addresses, the folders. A Worker
// owns one Machine and is the only one to step it; effects that take time run
// beside it, each with a deadline, and report back through the worker's mailbox.
// So a call that hangs blocks neither another pod nor its own pod's worker.
//
// Facts come from three places: answers of effects, the runtime's event stream,
// and snapshots of the pod, which repair what was lost: every Timeouts.Relist while
// something happens to it, else when a list of all pods shows that something has.
//
// file.go keeps a pod's lifecycle.Checkpoint in a file, so that a
// lifepod that comes after one that was killed resumes where it was.
//
// The file has two slots, which are written in turn, in place: at any instant one
// of them is complete. A new file that is renamed over the old one would be as
// safe, and costs twenty times as much on ext4, which then begins to write it
// back at once. What was saved survives the process; what was synced survives the
// machine, too.
//
// If the file can't be read or written, the pod is swept up: it is never resumed from an
// outdated state.
package worker
