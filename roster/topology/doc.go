// Package topology decides on which NUMA nodes of a machine a pod's containers get what they
// are given for themselves: CPUs, memory, devices. Whoever has something to give says by
// hints on which nodes it could; a policy merges them into one, and may refuse the pod.
//
// It is pure. The rules are A-NUMA of the contract.
package topology
