// Package devices gives containers the devices of device plugins (v1beta1). Plugins register at a socket and report their
// devices and their health; the node allocates some to a container before its pod begins. Package roster/numa decides
// which devices, package roster when.
//
// resources.go allocates to pods what they don't share: devices, CPUs and memory, on NUMA nodes
// that the topology manager's policy accepts. A refused pod keeps nothing, and allocations
// outlive the agent. Running containers are moved when the shared CPUs change. The rules are
// A-NUMA of the contract.
//
// claims.go has drivers prepare the devices of pods' ResourceClaims on this node, and
// take them back after the last pod that uses them (A-DRA). What is prepared is kept in the
// kubelet's file and form, so that a node can go from the kubelet to lifepod and back.
//
// Calls for one claim come one after the other, whichever pods they are for. A driver that
// hangs holds up the pods that use it, and no others.
//
// view.go reads the CPU and memory layout of this machine.
//
// placement.go moves running containers to their CPUs.
//
// watcher.go finds the drivers that register themselves by a socket in a folder of the
// node, plugins_registry, and gives each to the part of the agent that uses drivers of its
// type: CSI drivers, DRA drivers, device plugins (A-PLUG). A driver that hangs holds up its
// own registration only.
//
// policies.go makes the policies of the kubelet's CPU, memory and topology manager from its
// configuration, and keeps the allocations in its files.
package devices
