// Package managerstate keeps which containers have CPUs and memory for themselves in the
// files of the kubelet's CPU manager and memory manager, so that either goes on where the
// other has stopped (A-NUMA-14).
package managerstate
