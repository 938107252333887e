// Package worker is the shell around the pure core: a worker per pod feeds facts
// into a lifecycle.Machine and carries its effects out on a container runtime.
//
// Nothing about a pod's position is decided here. A Node has what all pods
// share: the runtime, the images, the machine's addresses, the folders. A Worker
// owns one Machine and is the only one to step it; effects that take time run
// beside it, each with a deadline, and report back through the worker's mailbox.
// So a hung call of one pod holds up neither another pod nor its own worker.
//
// Facts come from three places: answers of effects, the runtime's event stream,
// and snapshots of the pod, which repair what was lost: every Timeouts.Relist while
// something happens to it, else when a list of all pods shows that something has.
package worker
