// Package sandbox makes a pod's sandbox without a container: its namespaces, and
// one small process that holds them (pause/sandbox.c). No file system is mounted for it,
// and runc does not run for it. With a container of runc's in its place, the creation of a pod takes 1.3 times as long.
//
// It is a part of the shim, which containerd starts for each pod ([Shim], [NewService]).
// To containerd such a sandbox is the task of a container, as ever: CRI's answers, its
// events and what a restarted containerd finds are those of a sandbox that runc has made.
// The pod's other containers are the business of containerd's own task service, which
// runs them with runc.
//
// A sandbox is made this way if the handler runs the carried runc, which lies beside the
// shim, or crun, and if its spec asks for nothing else than the process can do (package holder).
// Otherwise, as with sysctls of the pod's own, with an SELinux label or in a handler of the user's with
// another runtime, the runtime makes a container.
//
// The process is a child of the shim. Which one it is, is written into the bundle
// before it begins, so that a shim that was killed leaves none that is not found: containerd
// then calls the shim's program to clean up ([Shim.Stop]).
package sandbox
