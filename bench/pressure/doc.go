// Command pressure measures how lifepod agent and the kubelet look after a machine,
// both as nodes of a real control plane, on one containerd in one run. They take
// turns; only one of them runs at a time.
//
//	eviction        a hard threshold of memory is crossed → the process that took the
//	                memory ends; it does so on SIGTERM, or ignores it and is killed
//	                after the two seconds that Kubernetes gives it
//	shutdown        the machine's shutdown is announced → the node lets it go on
//	watching        CPU and memory of the process while its pods do nothing and
//	                thresholds of memory, disks and process IDs are watched
//
// The threshold is some GiB below what the machine has left when the run begins. A hog
// takes as much as there is above it when it comes, and a GiB more. The moment of the
// crossing is the benchmark's own: it reads every two milliseconds what both sides go
// by, the machine's memory without the working set, and takes the last time when there
// was enough. A process has ended when the kernel has begun to end it; its memory is
// free again when its file descriptor (pidfd) tells. The other pods go on meanwhile.
//
// The shutdown is announced by a pretended systemd-logind on a D-Bus of the benchmark's.
//
// What the figures are to reach is in targets (table.go).
package main
