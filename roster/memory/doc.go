// Package memory keeps memory and huge pages of NUMA nodes for containers: the memory
// manager policy Static. Each container of a Guaranteed pod may use the memory of one NUMA
// node only, or, if none has enough, of a group of them.
//
// It is pure. The rules are A-NUMA-12 and A-NUMA-13 of the contract.
package memory
