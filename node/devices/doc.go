// Package devices gives containers the devices of device plugins (v1beta1): plugins register at a socket, tell which devices
// they have and how these are, and are asked to give some to a container before its pod begins. Which ones is decided by
// package roster/numa, when by package roster.
//
// byname.go gives pods what nobody else on the node then has: devices of device plugins,
// CPUs and memory. All of it is on NUMA nodes on which the topology manager's policy agrees, a
// pod that is refused keeps nothing, and what was given outlives the agent. Containers that
// run are moved to other CPUs when those that they share change.
//
// What is chosen is decided by package roster/numa. The rules are A-NUMA of the contract.
//
// claims.go has drivers prepare the devices of pods' ResourceClaims on this node, and
// take them back after the last pod that uses them (A-DRA). What is prepared is kept in the
// kubelet's file and form, so that a node can go from the kubelet to lifepod and back.
//
// Calls for one claim come one after the other, whichever pods they are for. A driver that
// hangs holds up the pods that use it, and no others.
//
// layout.go reads where CPUs and memory of this machine are.
//
// placement.go has containers that run moved to the CPUs that are theirs.
//
// watcher.go finds the drivers that register themselves by a socket in a folder of the
// node, plugins_registry, and gives each to the part of the agent that uses drivers of its
// type: CSI drivers, DRA drivers, device plugins (A-PLUG). A driver that hangs holds up its
// own registration only.
//
// policies.go makes the policies of the kubelet's CPU, memory and topology manager from its
// configuration, and keeps who has what in its files.
package devices
