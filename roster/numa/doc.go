// Package numa decides what containers have of a node for themselves, and on which of its NUMA nodes: what the kubelet's CPU,
// memory, device and topology manager do together. It is pure. The rules are A-NUMA and A-DEV of the contract.
//
// Whoever has something to give says by hints on which NUMA nodes it could; a Policy merges them into one, and may refuse the pod.
//
//   - StaticCPUs (CPU manager policy static): a container of a Guaranteed pod that asks for whole CPUs gets so many that nobody else
//     uses; all others share the rest (A-NUMA-3 to A-NUMA-8).
//   - StaticMemory (memory manager policy Static): a container of a Guaranteed pod may use the memory of one NUMA node only or, if
//     none has enough, of a group of them (A-NUMA-12, A-NUMA-13).
//   - ChooseDevices: which devices of a device plugin a container gets, always the same ones where the kubelet takes random ones.
//   - Resources has CPUs and memory of all containers.
package numa
