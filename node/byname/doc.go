// Package byname gives pods what nobody else on the node then has: devices of device plugins,
// CPUs and memory. All of it is on NUMA nodes on which the topology manager's policy agrees, a
// pod that is refused keeps nothing, and what was given outlives the agent. Containers that
// run are moved to other CPUs when those that they share change.
//
// What is chosen is decided by package roster/exclusive. The rules are A-NUMA of the contract.
package byname
