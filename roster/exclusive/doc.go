// Package exclusive has what containers have of a node for themselves: CPUs and memory, on
// NUMA nodes on which a policy agrees. It is what the kubelet's CPU manager, memory manager
// and topology manager do together.
//
// It is pure. The rules are A-NUMA of the contract.
package exclusive
