// Package bundle carries lifepod's container runtime and keeps it running:
// containerd 2.4, a shim that has its runc shim and runc's library inside and makes sandboxes
// itself, runc, the CNI plugins, and the pause and toolbox images, built by bundle/build and embedded as
// one archive.
//
// [Unpack] puts the programs below the state folder, once per version.
// [Open] makes sure that containerd answers and keeps it answering until
// [Runtime.Close]:
//
//   - Any number of processes may open the same root. Each holds a shared
//     lock (users.lock) as long as it has the root open. One of them, the
//     holder of supervisor.lock, starts containerd, or adopts the one that is
//     running, and starts it again when it dies. The others are connected
//     to the supervisor; when the connection breaks, because it closed or was killed, one of
//     them takes the lock and supervises. A
//     suspended supervisor is silent and keeps its lock: the others go on if
//     containerd answers; else they fail after ten seconds, with its process ID.
//   - containerd runs in a session of its own: neither Ctrl-C in a terminal
//     nor the end of the process that started it reaches it. Containers
//     belong to their shims, so that they outlive containerd as well.
//   - The last one to close stops containerd and removes what it leaves in
//     the kernel and below the run folder: sockets, mounts, the bridge, cgroups
//     and packet filter rules. While pods are left running containerd runs on:
//     it reads their output. What a kill -9 leaves is adopted by the next Open.
//
// On disk, below the root: bundle/ (programs), containerd/ (images and
// content), cni/ and containerd.toml (generated), ipam/ (addresses),
// certs.d/ (registry configuration, by the user), containerd.log, and the two
// locks.
//
// extract.go also finds the OCI runtime crun on this machine, and tries whether it can make
// containers here. crun is written in C and takes less of a CPU to make a container than runc,
// which lifepod carries. It is the distribution's: lifepod uses it only where it is asked to.
//
// load.go puts the images of an archive into a containerd. CRI has
// no call for that, so this speaks containerd's own API: the transfer service
// reads the archive from a stream, stores and unpacks the images, and CRI
// hears of them by an event.
package bundle
