// Package leftovers finds and sweeps up what a lifepod that was killed left
// running, mounted or created on the machine: processes, mounts, loop devices, network
// namespaces, the bridge, packet filter rules, cgroups, and the folders and
// records of pods, of one state folder.
//
// A thing counts as left over because of where it lies, not because of who made
// it. So neither call may be made while a lifepod uses the same root: whoever
// calls Sweep holds the root's lock.
package leftovers

import (
	"github.com/lifepod/lifepod/internal/pidfd"
)

// Place is where one lifepod keeps its things; an empty field is not searched.
type Place struct {
	// Root is the state folder and RunDir the folder of the sockets.
	Root, RunDir string
	// CgroupParent is the cgroup above all pods, as a path below the cgroup
	// file system ("lifepod" or "/lifepod.slice"). It must belong to this root
	// alone.
	CgroupParent string
	// Bridge is the network interface that the pods are connected to.
	Bridge string
	// Endpoint is the CRI endpoint of the runtime that was found and is swept
	// with the root; pods on others stay.
	Endpoint string
	// FilterTable is the name of the nft table, and the comment of the iptables
	// rule, that gives the pods the machine's address.
	FilterTable string
}

// Kind of a leftover, in words.
type Kind string

// The kinds, in the order in which they are swept: nothing is pulled from
// under something that still uses it.
const (
	Process          Kind = "process"
	Cgroup           Kind = "cgroup"
	Mount            Kind = "mount"
	LoopDevice       Kind = "loop device"
	NetworkNamespace Kind = "network namespace"
	Bridge           Kind = "bridge"
	FilterTable      Kind = "nft table"
	FilterRule       Kind = "iptables rule"
	HostPortRule     Kind = "host port's nft rule"
	HostPortChain    Kind = "host port's iptables rule"
	PodFolder        Kind = "pod folder"
	LogFolder        Kind = "log folder"
	AddressRecord    Kind = "address record"
	PodRecord        Kind = "pod record"
	ForeignPod       Kind = "pod on another runtime" // only that runtime can sweep it up
	RunFolder        Kind = "run folder"
)

// Leftover is one thing that was left behind.
type Leftover struct {
	Kind Kind `json:"kind"`
	// Name is a path, an interface's name, or a process's PID.
	Name string `json:"name"`
	// Detail says more to a reader: a command line, a count.
	Detail string `json:"detail,omitempty"`

	// process is set for a Process.
	process pidfd.ID
}

// String is one line for a log.
func (l Leftover) String() string {
	text := string(l.Kind) + " " + l.Name
	if l.Detail != "" {
		text += " (" + l.Detail + ")"
	}
	return text
}
