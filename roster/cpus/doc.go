// Package cpus gives CPUs to containers for themselves: the CPU manager policy static. A
// container of a Guaranteed pod that asks for whole CPUs gets so many that nobody else
// uses; all others share the rest.
//
// It is pure. The rules are A-NUMA-3 to A-NUMA-8 of the contract.
package cpus
